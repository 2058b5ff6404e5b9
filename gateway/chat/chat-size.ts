import type { Exchange } from '../exchange/exchange.ts'
import type { Operation } from '../exchange/prepare-exchange.ts'
import { type ChatRequest, outputTokensMax } from '../requests/chat-request.ts'
import { takeApart } from '../tokens/measurable-prompt.ts'
import { contentOf, type PromptContent } from '../tokens/prompt-content.ts'
import { estimateInSteps, estimatePrompt, readPrompt } from '../tokens/token-estimate.ts'
import { atOnceBytesMax, inTurns, workThrough } from '../wire/turns.ts'

type Chat = { readonly request: ChatRequest }

/** How large a chat is, whatever API it came by. */
export const chatSize: Pick<Operation<Chat>, 'measure' | 'takeApart'> = {
  measure({ request }, bodyBytes) {
    const content = contentOf(request, bodyBytes)
    if (bodyBytes > atOnceBytesMax)
      return inTurns(estimateInSteps(request)).then(({ tokens, prompt }) =>
        measured(request, content, { estimatePrompt: () => tokens, readPrompt: () => prompt }),
      )
    let tokens: number | undefined
    return measured(request, content, {
      estimatePrompt() {
        tokens ??= estimatePrompt(request)
        return tokens
      },
      readPrompt: () => readPrompt(request),
    })
  },
  takeApart: ({ request }, bodyBytes) => workThrough(takeApart(request), bodyBytes),
}

function measured(
  request: ChatRequest,
  content: PromptContent,
  estimate: Pick<Exchange, 'estimatePrompt' | 'readPrompt'>,
) {
  return {
    mode: request.stream === true ? 'stream' : 'plain',
    choices: request.n ?? 1,
    outputTokensMax: outputTokensMax(request),
    content,
    ...estimate,
  } as const
}
