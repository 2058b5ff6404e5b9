import type { ReactNode } from 'react'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { DateTime } from '../../kit/date-time.tsx'
import { Icon } from '../../kit/icon.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { formatAmount, nameOfLimit, type Refusal, reasonOf } from './refusal-facts.ts'
import { refusalWords } from './refusal-messages.ts'

type OfKey = Refusal & { readonly api_key_id?: string; readonly api_key_name?: string | null }

/** Rejected requests, each with the numbers that its client received; a list for several keys names the key. */
export function RefusalList({ refusals }: { readonly refusals: readonly OfKey[] }) {
  return (
    <ul className="divide-y divide-line">
      {refusals.map((refusal) => (
        <li key={refusal.request_id} className="flex gap-3 px-5 py-3">
          <span className="pt-0.5 text-danger">
            <Icon name="warning" />
          </span>
          <RefusalItem refusal={refusal} />
        </li>
      ))}
    </ul>
  )
}

function RefusalItem({ refusal }: { readonly refusal: OfKey }) {
  const words = useWords(refusalWords)
  const language = useLanguage()
  const { status, code, param, ip, used, held, needed, limit, resets_at, model, request_id, at } = refusal
  return (
    <div className="grid min-w-0 flex-1 gap-1">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p className="min-w-0 font-medium">{reasonOf(refusal, words)}</p>
        <p className="text-sm text-muted">
          <DateTime at={at} />
        </p>
      </div>
      <dl className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {refusal.api_key_id !== undefined && (
          <Fact name={words.key}>
            <KeyLink id={refusal.api_key_id} name={refusal.api_key_name ?? null} />
          </Fact>
        )}
        {param !== null && (
          <Fact name={words.param}>
            <code className="font-mono">{param}</code>
          </Fact>
        )}
        {ip !== null && (
          <Fact name={words.ip}>
            <code className="font-mono break-all">{ip}</code>
          </Fact>
        )}
        {needed !== null && <Fact name={words.needed}>{formatAmount(needed, language)}</Fact>}
        {used !== null && <Fact name={words.used}>{formatAmount(used, language)}</Fact>}
        {held !== null && <Fact name={words.held}>{formatAmount(held, language)}</Fact>}
        {limit !== null && <Fact name={nameOfLimit(code, words)}>{formatAmount(limit, language)}</Fact>}
        {resets_at !== null && (
          <Fact name={words.resetsAt}>
            <DateTime at={resets_at} />
          </Fact>
        )}
      </dl>
      <p className="text-xs text-muted wrap-anywhere">
        {status} {code} · {model ?? words.noModel} · {words.requestId}:{' '}
        <code className="font-mono break-all">{request_id}</code>
      </p>
    </div>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex min-w-0 max-w-full flex-wrap gap-x-1.5">
      <dt className="text-muted">{name}:</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  )
}

function KeyLink({ id, name }: { readonly id: string; readonly name: string | null }) {
  const words = useWords(refusalWords)
  if (name === null) return words.removedKey
  return (
    <TextLink href={`/app/keys/${id}`}>
      <bdi className="line-clamp-1">{name}</bdi>
    </TextLink>
  )
}
