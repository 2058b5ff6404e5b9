/**
 * The credential that the gateway sends to the hostile provider, and no one else may read. It is short and unlike any
 * known kind of key.
 */
export const providerCredential = 'hunter2-canary-88'

/** A whole non-streaming answer with these fields of its message, and a usage. */
export function plainAnswer(message: object, usage: object): string {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }]
  return JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage })
}

/** Usage of so many tokens. */
export function usageOf(prompt: number, completion: number): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}
