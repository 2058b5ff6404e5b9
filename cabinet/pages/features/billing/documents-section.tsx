import { addressOf } from '../../api/call.ts'
import { serverNowMs } from '../../api/server-clock.ts'
import { useTimeZone } from '../../api/time-zone.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { DownloadLink } from '../../kit/download-link.tsx'
import { Section } from '../../kit/section.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { dayOf } from '../../time/days.ts'
import { billingWords } from './messages.ts'
import { type Month, monthsUntil } from './months.ts'

const monthsShown = 3

/** For each of the last months its changes of the balance and its usage as files; and the agreed texts. */
export function DocumentsSection() {
  const words = useWords(billingWords)
  const months = monthsUntil(dayOf(new Date(serverNowMs()).toISOString(), useTimeZone()), monthsShown)
  return (
    <Section
      title={words.documents}
      lead={words.documentsLead}
      actions={<TextLink href="/legal">{words.legalTexts}</TextLink>}
    >
      <ul className="divide-y divide-line">
        {months.map((month) => (
          <MonthItem key={month.from} month={month} />
        ))}
      </ul>
    </Section>
  )
}

function MonthItem({ month: { from, to } }: { readonly month: Month }) {
  const words = useWords(billingWords)
  const language = useLanguage()
  const name = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone: 'UTC',
    month: 'long',
    year: 'numeric',
  }).format(new Date(`${from}T00:00:00Z`))
  const usage = { from, to, bucket: 'day', group_by: 'model_and_key' } as const
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3">
      <p className="font-medium">{name}</p>
      <div className="flex flex-wrap gap-2">
        <DownloadLink href={addressOf('/ledger.csv', { query: { from, to } })}>
          {words.ledgerOf}
          <span className="sr-only">, {name}</span>
        </DownloadLink>
        <DownloadLink href={addressOf('/usage.csv', { query: usage })}>
          {words.usageOf}
          <span className="sr-only">, {name}</span>
        </DownloadLink>
      </div>
    </li>
  )
}
