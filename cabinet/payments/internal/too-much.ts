import { formatRub, type NanoRub } from '#core/ledger/money'

/** The problem with an amount above the largest payment. Pure. */
export function tooMuch(max: NanoRub) {
  const message = `must be at most ${formatRub(max)}`
  return { code: 'validation_failed', errors: [{ path: 'amount_rub', code: 'too_big', message }] } as const
}
