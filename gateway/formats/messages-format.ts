import type { Refusal } from '#core/errors/refusal'
import { type MessagesAsked, noMessagesAsked } from '../requests/messages-asked.ts'
import type { JsonObject } from '../wire/json-fields.ts'
import type { OpenAiUsage } from '../wire/openai-usage.ts'
import { withRenamedParam } from '../wire/renamed-param.ts'
import type { ApiFormat, FormatAnswer } from './api-format.ts'
import { WholeBlocks } from './internal/block-sink.ts'
import { endOf, messageFrame, messageIdOf, messageObject, messageUsage } from './internal/message-object.ts'
import { MessageOutput } from './internal/message-output.ts'
import { messagesErrorBody, promptTooLong } from './internal/messages-error.ts'
import { MessagesRelay, relayedMessage } from './internal/messages-relay.ts'
import { MessagesStream } from './internal/messages-stream.ts'
import { stepsOf } from './internal/whole-steps.ts'
import type { SignedReasoning } from './signed-reasoning.ts'

export type MessagesFormatDeps = {
  /** Encrypts what a provider signed, for its organization; `undefined`: it cannot be encrypted. */
  readonly encrypt: (signed: SignedReasoning) => string | undefined
  /** Estimated tokens of the prompt. */
  readonly promptTokens: () => number
}

/** Anthropic's Messages, for one request. */
export function createMessagesFormat(asked: MessagesAsked, deps: MessagesFormatDeps): ApiFormat {
  const { thinking, toolNameOf, stopSequences } = asked
  const { encrypt, promptTokens } = deps
  const writeError = (refusal: Refusal, requestId: string) =>
    messagesErrorBody(inTheirNames(refusal, asked, promptTokens), requestId)
  return {
    name: 'messages',
    idOf: messageIdOf,
    keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
    parameterOf: asked.pathOf,
    writeError,
    writeStreamError: (refusal, requestId) => messageFrame('error', writeError(refusal, requestId)),
    answerOf: (answer, usage, costRub) => wholeMessage(answer, usage, costRub, asked, deps),
    createStreamWriter: ({ requestId, model, origin }) =>
      new MessagesStream({
        requestId,
        model,
        origin,
        thinking,
        toolNameOf,
        stopSequences,
        encrypt,
        promptTokens,
      }),
    relay: {
      createStreamRelay: (facts) => new MessagesRelay({ facts, encrypt, promptTokens }),
      answerOf: (own, facts, charged, share) =>
        relayedMessage(own, { facts, encrypt, promptTokens }, charged, share),
    },
  }
}

/** For rejections of requests that were not read. */
export const messagesRejections = createMessagesFormat(noMessagesAsked, {
  encrypt: () => undefined,
  promptTokens: () => 1,
})

function wholeMessage(
  { choices, requestId, model, origin, stopSequence }: FormatAnswer,
  usage: OpenAiUsage,
  costRub: string,
  { thinking, toolNameOf, stopSequences }: MessagesAsked,
  { encrypt }: MessagesFormatDeps,
): JsonObject {
  const sink = new WholeBlocks()
  const output = new MessageOutput({ requestId, origin, thinking, toolNameOf, encrypt }, sink)
  for (const step of stepsOf(choices[0] ?? {})) output.take(step)
  return messageObject(requestId, model, {
    content: sink.blocks,
    end: endOf(output, stopSequence, stopSequences),
    usage: messageUsage(usage, costRub),
  })
}

/** A rejection that names the fields of the client's request: it was decided about a chat. */
function inTheirNames(refusal: Refusal, { pathOf }: MessagesAsked, promptTokens: () => number): Refusal {
  return refusal.code === 'context_length_exceeded'
    ? { ...refusal, message: promptTooLong(refusal.message, promptTokens()) }
    : withRenamedParam(refusal, pathOf)
}
