import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { TextField } from '../../kit/fields.tsx'
import type { Column } from '../../kit/table.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { AskProvider } from './ask-provider.tsx'
import { moneyWords } from './messages.ts'
import { usePaymentColumns } from './payment-columns.tsx'

type Payment = Answer<'GET /admin/payments'>['data'][number]

const refundable: ReadonlySet<Payment['status']> = new Set(['succeeded', 'partially_refunded'])

/** Payments, newest first: the provider can be asked about each, and a paid one can be refunded. */
export function PaymentsTable({
  caption,
  organizationId,
}: {
  readonly caption: string
  /** Only its payments; all if absent. */
  readonly organizationId?: string
}) {
  const words = useWords(moneyWords)
  const shown = usePaymentColumns()
  const [chosen, setChosen] = useState<Payment>()
  const list = useReadList(
    '/admin/payments',
    organizationId === undefined ? {} : { query: { organization_id: organizationId } },
  )
  const columns: readonly Column<Payment>[] = [
    {
      id: 'id',
      head: words.payment,
      cell: ({ id }) => <span className="font-mono text-xs break-all">{id}</span>,
    },
    ...(organizationId === undefined ? [customerColumn(words)] : []),
    ...shown,
    {
      id: 'action',
      head: words.actions,
      cell: (payment) => (
        <div className="flex flex-wrap items-start gap-2">
          <AskProvider paymentId={payment.id} onAnswer={() => void readAgain('/admin/payments')} />
          {refundable.has(payment.status) && (
            <Button size="small" aria-label={words.refundOf(payment.id)} onClick={() => setChosen(payment)}>
              {words.refund}
            </Button>
          )}
        </div>
      ),
    },
  ]
  return (
    <>
      <ListTable
        list={list}
        expectedCount={8}
        empty={words.empty}
        caption={caption}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {chosen !== undefined && <RefundDialog payment={chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

function customerColumn(words: (typeof moneyWords)['ru']): Column<Payment> {
  return {
    id: 'customer',
    head: words.customer,
    cell: ({ organization_id }) => (
      <TextLink href={`/app/customers/${organization_id}`}>{words.customer}</TextLink>
    ),
  }
}

function RefundDialog({ payment, onClose }: { readonly payment: Payment; readonly onClose: () => void }) {
  const words = useWords(moneyWords)
  return (
    <ReasonDialog
      title={words.refund}
      lead={words.refundLead}
      action={words.refund}
      isDanger
      check={(values) => ({ amount_rub: readAmount(values) === 'wrong' ? words.amountWrong : undefined })}
      send={(values, idempotencyKey) => {
        const amount = readAmount(values)
        return call('POST /admin/payments/:payment_id/refunds', {
          params: { payment_id: payment.id },
          body: { reason: textOf(values, 'reason'), ...(amount !== 'all' && { amount_rub: amount }) },
          idempotencyKey,
        })
      }}
      onDone={(sent) => {
        announce('state' in sent ? words.waits : words.refundSent)
        void readAgain('/admin/payments')
      }}
      onClose={onClose}
    >
      <TextField name="amount_rub" label={words.refundAmount} inputMode="decimal" autoComplete="off" />
    </ReasonDialog>
  )
}

/** The sum to refund as the server reads it; `all`: the field is empty. */
function readAmount(values: FormData): string {
  const text = textOf(values, 'amount_rub').replace(/[\s₽]/g, '').replace(',', '.')
  if (text === '') return 'all'
  return /^\d{1,7}(?:\.\d{1,2})?$/.test(text) ? text : 'wrong'
}
