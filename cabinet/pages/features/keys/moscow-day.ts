const moscowMs = 3 * 3_600_000
const dayMs = 24 * 3_600_000

/** The Moscow day of an instant, as `2026-11-22`. Moscow's clock is three hours ahead of UTC all year. Pure. */
export function moscowDay(ms: number): string {
  return new Date(ms + moscowMs).toISOString().slice(0, 10)
}

/** When a Moscow day ends, RFC 3339; `undefined`: no such day. Pure. */
export function endOfMoscowDay(day: string): string | undefined {
  const startMs = Date.parse(`${day}T00:00:00+03:00`)
  return Number.isNaN(startMs) ? undefined : new Date(startMs + dayMs).toISOString()
}
