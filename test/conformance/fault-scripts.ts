import type { Script, Step } from '../support/upstream.ts'
import { speeches } from './fault-apis.ts'
import type { FaultyApi, SpokenStep, WrittenScript, WrittenStep } from './fault-cases.ts'

/** How the provider's bytes arrive. */
export type Bytes = 'whole' | 'single'

/** A fault's script as a provider of this API plays it. */
export function scriptOf(api: FaultyApi, { steps, ...rest }: WrittenScript, arriving: Bytes): Script {
  if (steps === undefined) return rest
  const isStream = rest.headers?.['content-type']?.startsWith('text/event-stream') === true
  const { status = 500 } = rest
  const written = steps.flatMap((step, at) =>
    stepsOf(step, { api, isStream, status, said: saidIn(steps.slice(0, at)) }),
  )
  return { ...rest, steps: arriving === 'whole' ? written : written.map(inSingleBytes) }
}

function saidIn(steps: readonly WrittenStep[]): string {
  return steps.map((step) => ('say' in step ? step.say : '')).join('')
}

type Place = {
  readonly api: FaultyApi
  readonly isStream: boolean
  readonly status: number
  readonly said: string
}

function stepsOf(step: WrittenStep, place: Place): readonly Step[] {
  if ('json' in step) return [{ send: JSON.stringify(step.json) }]
  return isSpoken(step) ? spoken(step, place) : [step]
}

const ofBytes = ['send', 'event', 'waitMs', 'until', 'stall', 'cut']

function isSpoken(step: WrittenStep): step is SpokenStep {
  return !ofBytes.some((name) => name in step)
}

function spoken(step: SpokenStep, place: Place): readonly Step[] {
  const speech = speeches[place.api]
  if ('say' in step) return [speech.say(step.say)]
  if ('role' in step) return speech.role
  if ('done' in step) return speech.done
  if ('signsOfLife' in step)
    return Array.from({ length: 30 }, () => [speech.signOfLife, { waitMs: 300 }]).flat()
  if ('unknown' in step) return speech.unknown
  if ('error' in step) return errorOf(step, place)
  if ('malformed' in step) return [{ send: JSON.stringify(speech.malformed) }]
  if ('half' in step) return halfOf(place.api, step.half)
  if ('plain' in step) return speech.plain(step.plain, step, step.fields ?? {}).steps ?? []
  if (!('trickle' in step)) return speech.end(step, place.said)
  const whole = step.trickle === 'plain' ? speech.plain('Hello', {}, {}) : speech.streamed('Hel', 'lo')
  return (whole.steps ?? []).map(inSingleBytes)
}

function errorOf(
  { error, as, words }: Extract<SpokenStep, { error: unknown }>,
  { api, isStream, status }: Place,
): readonly Step[] {
  const speech = speeches[api]
  const body = speech.errorBody({ ...error, message: words?.[api] ?? error.message }, as ?? status)
  return [isStream ? speech.errorEvent(body) : { send: JSON.stringify(body) }]
}

function halfOf(api: FaultyApi, text: string): readonly Step[] {
  const [first] = speeches[api].plain(`${text}lo`, {}, {}).steps ?? []
  const whole = first !== undefined && 'send' in first ? String(first.send) : ''
  return [{ send: whole.slice(0, whole.indexOf(text) + text.length) }]
}

function inSingleBytes(step: Step): Step {
  if ('send' in step) return { trickle: String(step.send) }
  if (!('event' in step)) return step
  return { trickle: `data: ${typeof step.event === 'string' ? step.event : JSON.stringify(step.event)}\n\n` }
}
