const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** How far ahead changes of clocks are given: Redis gets the text again at least once a day. */
const aheadMs = 400 * dayMs
/** Of all zones of the world, with room. */
const zonesMax = 1_000

const texts = new Map<string, { readonly fromMs: number; readonly text: string }>()

/**
 * The offsets of a time zone from UTC since two days ago, as `window.lua` reads them: milliseconds, each followed by the
 * instant from which the next one counts. Offsets and their changes are whole hours.
 */
export function zoneText(timeZone: string, nowMs: number): string {
  const fromMs = Math.floor(nowMs / dayMs - 2) * dayMs
  const known = texts.get(timeZone)
  if (known?.fromMs === fromMs) return known.text
  if (texts.size >= zonesMax) texts.clear()
  const text = offsetsOf(timeZone, fromMs).join(' ')
  texts.set(timeZone, { fromMs, text })
  return text
}

function offsetsOf(timeZone: string, fromMs: number): readonly number[] {
  const offsetAt = offsetsIn(timeZone)
  const items = [offsetAt(fromMs)]
  for (let dayStartMs = fromMs; dayStartMs < fromMs + aheadMs; dayStartMs += dayMs) {
    const nextMs = dayStartMs + dayMs
    const next = offsetAt(nextMs)
    if (next === items.at(-1)) continue
    let atMs = dayStartMs
    while (offsetAt(atMs) !== next) atMs += hourMs
    items.push(atMs, next)
  }
  return items
}

function offsetsIn(timeZone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
  })
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour')) - atMs
  }
}
