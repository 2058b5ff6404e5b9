import {
  type AttemptDeps,
  callTarget,
  clockProvider,
  errorBytesMax,
  type Sending,
} from '../exchange/call-target.ts'
import { watchOutput } from '../exchange/output-limit.ts'
import { factsOf, type Run, stopsWhenClosed } from '../exchange/run.ts'
import type { AttemptOptions } from '../exchange/serve.ts'
import type { Served } from '../exchange/served.ts'
import { readUsage } from '../exchange/usage.ts'
import type { Target } from '../routing/attempt-plan.ts'
import { EventTooLong } from '../upstream/event-stream-parser.ts'
import {
  type Failure,
  failureOfBadAnswer,
  failureOfDeadline,
  failureOfErrorBody,
  isErrorBody,
  type TransportFault,
} from '../upstream/failure.ts'
import { createBodyCollector, type Heard, type ProviderCall } from '../upstream/provider-call.ts'
import { fieldsOf, findJson } from '../wire/json-fields.ts'
import { type WrittenChat, writeChatRequest } from './chat-call.ts'
import { type ClientStream, createClientStream } from './internal/client-stream.ts'
import { createRelayedStream } from './internal/relayed-stream.ts'
import { createStepReader, type StepReader } from './internal/step-reader.ts'
import {
  createStreamNormaliser,
  type StreamNormaliser,
  type StreamStep,
} from './internal/stream-normaliser.ts'

type StreamDeps = AttemptDeps & AttemptOptions
type StreamEnding = Extract<Served, { kind: 'streamed' }>['ending']

/**
 * One streamed attempt. Until the first content nothing has left, so a failure can be made good elsewhere; from
 * then on everything goes to the client as it comes, no faster than the client reads.
 *
 * Resolves when all content was delivered, or none will be: the end of the stream is the caller's, after settle. Once
 * its client has left it is read to its end for the provider's count, unless closing it ends its bill.
 */
export function attemptStream(deps: StreamDeps, run: Run, target: Target): Promise<Served> {
  const written = writeChatRequest(deps, run, target, deps.timeMs)
  if (!(written instanceof Promise)) return sendForStream(deps, run, target, written)
  return written.then((chat) =>
    run.departure.hasLeft() ? { kind: 'left_unanswered' } : sendForStream(deps, run, target, chat),
  )
}

function sendForStream(deps: StreamDeps, run: Run, target: Target, written: WrittenChat): Promise<Served> {
  if ('failure' in written) return Promise.resolve({ kind: 'failed', failure: written.failure })
  const { firstByteMs } = target.route.document.timeouts
  const { reading, ...call } = written
  const sending = { ...call, firstByteMs: Math.min(firstByteMs, deps.timeMs) }
  const chat = { sending, normaliser: normaliserFor(run, target, reading) }
  return new Promise((resolve, reject) => followStream(deps, run, target, chat, { resolve, reject }))
}

type SendableChat = { readonly sending: Sending; readonly normaliser: StreamNormaliser }
type Frames = Extract<StreamStep, { text: string }>
type Waiting = { readonly resolve: (served: Served) => void; readonly reject: (error: unknown) => void }

function followStream(
  deps: StreamDeps,
  run: Run,
  target: Target,
  { sending, normaliser }: SendableChat,
  { resolve, reject }: Waiting,
): void {
  const { departure } = run
  let reader = createStepReader(normaliser, follow)
  const deadline = setTimeout(fail, run.readingEndsAtMs - deps.now(), failureOfDeadline)
  const clock = clockProvider(run, deps.now)
  let grace: NodeJS.Timeout | undefined
  let [hasContent, isOver] = [false, false]
  const cut = (unsent: readonly Frames[]) => take(cutAtLimit(normaliser, unsent))
  const watched = { call: () => call, take, cut }
  const client = openClientStream(deps, run, watched.call, reject)
  const pass = watchOutput<Frames>(deps.outputLimit, run, normaliser.delivered, watched)

  function over(served: Served): void {
    if (isOver) return
    isOver = true
    clock.stop()
    for (const timer of [deadline, grace]) clearTimeout(timer)
    stay()
    client.letGo(normaliser.heldFrames())
    resolve(served)
  }

  const end = (ending: StreamEnding, cutBy: Failure | null = null) =>
    over({ kind: 'streamed', ending, cutBy, ...pastOf(deps, target, normaliser, client) })

  function fail(failure: Failure): void {
    call.cancel()
    if (!hasContent) over({ kind: 'failed', failure })
    else if (isWhole(normaliser, failure)) end(endingOf(run, 'complete'))
    else end(endingOf(run, 'upstream_cut'), failure)
  }

  function follow(step: StreamStep): void {
    if (isOver || step.kind === 'nothing' || step.kind === 'ping') return
    if (step.kind === 'failed') fail(step.failure)
    else pass(step)
  }

  function take(step: Frames): void {
    if (isOver) return
    if (!hasContent) noteFirstContent(deps, run, normaliser)
    hasContent = true
    if (!departure.hasLeft()) client.write(step.text)
    if (step.kind === 'ended') {
      setTimeout(() => call.cancel(), deps.usageGraceMs).unref() // left to end by itself, its connection can be used again
      end(endingOf(run, 'complete'))
    } else if (normaliser.finished() === 'all')
      grace ??= setTimeout(() => follow(normaliser.end()), deps.usageGraceMs)
  }

  const stay = onceLeft(run, target, client, watched.call, leave)

  function leave(): void {
    call.cancel()
    if (run.ran === undefined) over({ kind: 'left_unanswered' })
    else end('client_gone')
  }

  const call = callTarget(deps, run, target, sending, {
    onAnswer({ 'content-type': type }) {
      run.ran = target.route
      if (!String(type).startsWith(target.backend.dialect.adapter.streamType))
        reader = createErrorReader(String(type), fail)
    },
    onData: (bytes) => read(reader, bytes, fail),
    onEnd: () => reader.end(),
    onFailure: fail,
    onCrash: reject,
  })
}

/** The client's side of a stream: while the client reads too slowly, the call to the provider is paused. */
function openClientStream(
  deps: StreamDeps,
  run: Run,
  currentCall: () => ProviderCall,
  onCrash: (error: unknown) => void,
): ClientStream {
  return createClientStream(run.exchange.raw, {
    facts: () => factsOf(run, deps.now()),
    keepAlive: run.exchange.format.keepAlive,
    keepAliveMs: deps.keepAliveMs,
    onFull: () => currentCall().pause(),
    onDrain: () => currentCall().resume(),
    onCrash,
  })
}

/**
 * Without a client the stream is still read to its end, at full speed, because its provider bills it. It is cut if that
 * ends the bill.
 */
function onceLeft(
  run: Run,
  target: Target,
  client: ClientStream,
  currentCall: () => ProviderCall,
  leave: () => void,
): () => void {
  return run.departure.onLeave(() => {
    client.letGo()
    if (run.owedTo === undefined || stopsWhenClosed(run, target)) leave()
    else currentCall().resume()
  })
}

function cutAtLimit(normaliser: StreamNormaliser, unsent: readonly Frames[]): Frames {
  return { kind: 'ended', text: normaliser.endAtLimit(unsent.map(({ text }) => text).join('')) }
}

/** The facts about a stream that is over, however it ended. */
function pastOf(deps: StreamDeps, { backend }: Target, normaliser: StreamNormaliser, client: ClientStream) {
  deps.noteServerTools(backend.provider.name, normaliser.serverTools())
  return {
    usage: readUsage(normaliser.usage()),
    heldUpMs: client.heldUpMs(),
    writeEnd: normaliser.finishFrames,
    keep: normaliser.keep,
  }
}

const noEventStream = failureOfBadAnswer('no_event_stream')

/** Reads a response with status 200 that is no stream: some providers send errors so. */
function createErrorReader(type: string, fail: (failure: Failure) => void): StepReader {
  if (!type.includes('json')) fail(noEventStream)
  const body = createBodyCollector()
  let readBytes = 0
  return {
    push(bytes) {
      readBytes += bytes.length
      if (readBytes > errorBytesMax) fail(noEventStream)
      else body.push(bytes)
      return 'something'
    },
    end() {
      const answer = findJson(body.text())
      fail(isErrorBody(answer) ? failureOfErrorBody(answer, 'error_in_answer') : noEventStream)
    },
  }
}

/** How a stream ends that ends so for a client that is still there. */
function endingOf({ departure }: Run, ending: StreamEnding): StreamEnding {
  return departure.hasLeft() ? 'client_gone' : ending
}

/** Whether all content had come before a failure. Silence is how a provider ends that gives fewer choices and never closes. */
function isWhole(normaliser: StreamNormaliser, { result }: Failure): boolean {
  const finished = normaliser.finished()
  return finished === 'all' || (finished === 'begun' && result === silence)
}

const silence = 'idle_timeout' satisfies TransportFault

function noteFirstContent(deps: StreamDeps, run: Run, { delivered }: StreamNormaliser): void {
  run.delivered = delivered
  deps.onFirstContent()
}

function read(reader: StepReader, bytes: Buffer, fail: (failure: Failure) => void): Heard {
  try {
    return reader.push(bytes)
  } catch (error) {
    if (!(error instanceof EventTooLong)) throw error
    fail(failureOfBadAnswer(error.code))
    return 'something'
  }
}

function normaliserFor(
  run: Run,
  target: Target,
  reading: Extract<WrittenChat, { readonly bytes: unknown }>['reading'],
): StreamNormaliser {
  const { choices, format, request, requestId } = run.exchange
  const facts = {
    requestId,
    model: target.route.document.model,
    createdS: Math.floor(Date.now() / 1000),
    origin: target.backend.dialect.origin,
    secrets: target.backend.provider.secrets,
  }
  if ('relay' in reading)
    return createRelayedStream({ ...facts, reader: reading.createRelayReader(), relay: reading.relay })
  return createStreamNormaliser({
    ...facts,
    reader: reading.createEventReader(),
    format,
    choices,
    usage: fieldsOf(request.stream_options)?.include_usage === true ? 'shown' : 'hidden',
  })
}
