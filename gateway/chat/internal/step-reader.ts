import { createEventStreamParser } from '../../upstream/event-stream-parser.ts'
import type { Heard } from '../../upstream/provider-call.ts'
import type { StreamNormaliser, StreamStep } from './stream-normaliser.ts'

/** Reads a provider's stream: bytes in, steps for the client out. */
export type StepReader = {
  /** Takes the next bytes, cut anywhere. @throws EventTooLong */
  push(bytes: Buffer): Heard
  /** The body ended well. */
  end(): void
}

/** A read that is one event like an earlier one but for its text, as most are, is not taken apart. */
export function createStepReader(
  normaliser: StreamNormaliser,
  onStep: (step: StreamStep) => void,
): StepReader {
  const parser = createEventStreamParser({
    onData(data) {
      const step = normaliser.accept(data)
      onStep(step)
      return step.kind === 'ping' ? 'silence' : 'something'
    },
    onBareJson: (text) => onStep(normaliser.acceptBareJson(text)),
  })
  return {
    push(bytes) {
      const step = parser.isBetweenEvents() ? normaliser.acceptBytes(bytes) : undefined
      if (step === undefined) return parser.push(bytes)
      parser.passOver()
      onStep(step)
      return 'something'
    },
    end() {
      parser.end()
      onStep(normaliser.end())
    },
  }
}
