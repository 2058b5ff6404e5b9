import { message, streamedMessage, textBlock } from '../../support/anthropic.ts'
import { messageItem, ownResponse } from '../../support/openai-responses.ts'
import { goodStream, type ReceivedRequest, type Script, streamHeaders } from '../../support/upstream.ts'

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
export function usageOf(prompt: number, completion: number) {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

type Counts = { readonly prompt_tokens: number; readonly completion_tokens: number }

/** An answer in the API that a request came in. */
export function answerTo({ path, body }: ReceivedRequest, content: string, counted: Counts): Script {
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = counted
  const own = { input_tokens, output_tokens }
  if (path.endsWith('/responses'))
    return ownResponse(body, [messageItem(content)], {
      usage: { ...own, total_tokens: input_tokens + output_tokens },
    })
  if (path.endsWith('/messages'))
    return body.stream === true
      ? streamedMessage([textBlock(content)], { usage: own })
      : message([textBlock(content)], { usage: own })
  if (body.stream !== true) return { steps: [{ send: plainAnswer({ content }, counted) }] }
  const { role, say, finish, usage: count, done } = goodStream
  return { headers: streamHeaders, steps: [role, say(content), finish(), count(counted), done] }
}
