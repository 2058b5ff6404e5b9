import { billingWords } from '../../features/billing/messages.ts'
import { paymentTones } from '../../features/billing/payment-words.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import type { Column } from '../../kit/table.tsx'
import type { Answer } from '../calls.ts'
import { moneyWords } from './messages.ts'

type Payment = Answer<'GET /admin/payments'>['data'][number]

/** What every table of payments shows of one: its status, amounts and time. */
export function usePaymentColumns(): readonly Column<
  Pick<Payment, 'status' | 'amount_rub' | 'refunded_rub' | 'created_at'>
>[] {
  const words = useWords(moneyWords)
  const billing = useWords(billingWords)
  return [
    {
      id: 'status',
      head: words.status,
      cell: ({ status }) => <Badge tone={paymentTones[status]}>{billing.statuses[status]}</Badge>,
    },
    {
      id: 'amount',
      head: words.amount,
      isNumber: true,
      cell: ({ amount_rub }) => <Money rubles={amount_rub} />,
    },
    {
      id: 'back',
      head: words.refunded,
      isNumber: true,
      cell: ({ refunded_rub }) => <Money rubles={refunded_rub} />,
    },
    { id: 'time', head: words.time, cell: ({ created_at }) => <DateTime at={created_at} /> },
  ]
}
