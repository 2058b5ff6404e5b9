/** What every response of these tests has. */
export const facts = { requestId: '1', model: 'a/b', createdS: 10, origin: 'mark' }
export const usage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
