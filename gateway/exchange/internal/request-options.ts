import type { IncomingHttpHeaders } from 'node:http'
import type { Refusal } from '#core/errors/refusal'
import { findRub } from '#core/ledger/money'
import { invalidValue } from '../../wire/errors.ts'
import type { RequestOptions } from '../exchange.ts'

const maxCost = 'x-gateway-max-cost-rub'
const strictParams = 'x-gateway-strict-params'
const noFallback = 'x-gateway-no-fallback'
const timeout = 'x-gateway-timeout-ms'
/** Names of a session, the narrowest first: Codex sends the first two, Claude Code the last. */
const sessionHeaders = ['thread-id', 'session-id', 'x-claude-code-session-id'] as const

/** The options in the headers of a request, or an error that names the invalid header. */
export function parseRequestOptions(
  headers: IncomingHttpHeaders,
): { readonly options: RequestOptions } | { readonly refusal: Refusal } {
  const maxCostText = textOf(headers, maxCost)
  const maxCostNano = maxCostText === undefined ? null : findRub(maxCostText)
  if (maxCostNano === undefined || (maxCostNano !== null && maxCostNano < 0n))
    return { refusal: invalidValue(maxCost, 'must be a non-negative amount in rubles, such as 1.5') }
  const strictParameters = flagOf(headers, strictParams)
  if (strictParameters === undefined) return { refusal: invalidValue(strictParams, 'must be true or false') }
  const withoutFallback = flagOf(headers, noFallback)
  if (withoutFallback === undefined) return { refusal: invalidValue(noFallback, 'must be true or false') }
  const timeoutText = textOf(headers, timeout)
  if (timeoutText !== undefined && !/^[1-9]\d{0,8}$/.test(timeoutText))
    return { refusal: invalidValue(timeout, 'must be a whole number of milliseconds from 1 to 999999999') }
  return {
    options: {
      maxCostNano,
      strictParameters,
      fallbacks: withoutFallback ? 'none' : 'allowed',
      timeoutMs: timeoutText === undefined ? null : Number(timeoutText),
      session: sessionOf(headers),
    },
  }
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const header of sessionHeaders) if (headers[header]) return headers[header].toString()
  return null
}

function textOf(headers: IncomingHttpHeaders, header: string): string | undefined {
  return headers[header]?.toString().trim()
}

/** Absent is `false`; nonsense is `undefined`. */
function flagOf(headers: IncomingHttpHeaders, header: string): boolean | undefined {
  const flag = textOf(headers, header)?.toLowerCase()
  if (flag === undefined || flag === 'false') return false
  return flag === 'true' ? true : undefined
}
