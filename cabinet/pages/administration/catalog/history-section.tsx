import { useState } from 'react'
import { rowsOf } from '../../api/queries.ts'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Money } from '../../kit/money.tsx'
import { Section } from '../../kit/section.tsx'
import type { Column } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import type { Model } from './catalog-parts.tsx'
import { catalogAdminWords } from './messages.ts'
import { PriceDialog } from './price-dialog.tsx'

type Price = Answer<'GET /admin/models/:model/prices'>['data'][number]

const tones = { in_force: 'success', scheduled: 'accent', canceled: 'neutral', past: 'neutral' } as const

/** Every price of a model; scheduled ones can be canceled, and a new one set. */
export function HistorySection({
  model,
  etag,
}: {
  readonly model: Model
  readonly etag: string | undefined
}) {
  const words = useWords(catalogAdminWords)
  const [isChanging, setChanging] = useState(false)
  const [canceled, setCanceled] = useState<Price>()
  const list = useReadList('/admin/models/:model/prices', { params: { model: model.model } })
  const isOurs = model.kubernetes === null
  const columns: readonly Column<Price>[] = [
    { id: 'from', head: words.from, cell: ({ valid_from }) => <DateTime at={valid_from} /> },
    {
      id: 'state',
      head: words.state,
      cell: ({ state }) => <Badge tone={tones[state]}>{words.states[state]}</Badge>,
    },
    {
      id: 'input',
      head: words.input,
      isNumber: true,
      cell: ({ pricing }) => <Money rubles={pricing.input} isExact />,
    },
    {
      id: 'output',
      head: words.output,
      isNumber: true,
      cell: ({ pricing }) => <Money rubles={pricing.output} isExact />,
    },
    {
      id: 'cancel',
      head: words.change,
      cell: (price) =>
        price.state === 'scheduled' && isOurs ? (
          <Button size="small" onClick={() => setCanceled(price)}>
            {words.cancel}
          </Button>
        ) : (
          ''
        ),
    },
  ]
  return (
    <Section
      title={words.history}
      isFlush
      {...(isOurs &&
        !model.free && {
          actions: (
            <Button size="small" onClick={() => setChanging(true)}>
              {words.changePrice}
            </Button>
          ),
        })}
    >
      <ListTable
        list={list}
        expectedCount={2}
        empty={words.noPrice}
        caption={words.history}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {isChanging && (
        <PriceDialog
          model={model}
          etag={etag}
          scheduled={rowsOf(list).filter(({ state }) => state === 'scheduled')}
          onClose={() => setChanging(false)}
        />
      )}
      {canceled !== undefined && (
        <CancelDialog model={model.model} price={canceled} onClose={() => setCanceled(undefined)} />
      )}
    </Section>
  )
}

function CancelDialog({
  model,
  price,
  onClose,
}: {
  readonly model: string
  readonly price: Price
  readonly onClose: () => void
}) {
  const words = useWords(catalogAdminWords)
  return (
    <ReasonDialog
      title={words.cancel}
      lead={words.cancelLead}
      action={words.cancel}
      isDanger
      send={(values) =>
        call('POST /admin/models/:model/prices/:price_id/cancel', {
          params: { model, price_id: price.id },
          body: { reason: textOf(values, 'reason') },
        })
      }
      onDone={() => {
        announce(words.canceled)
        void readAgain('/admin/models', '/admin/models/:model', '/admin/models/:model/prices')
      }}
      onClose={onClose}
    />
  )
}
