import { useState } from 'react'
import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { Money } from '../../kit/money.tsx'
import type { Column } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain, useReadList } from '../calls.ts'
import { ListTable } from '../list-table.tsx'
import { ReasonDialog } from '../reason-dialog.tsx'
import { customerWords } from './messages.ts'

type Key = Answer<'GET /admin/organizations/:organization_id/keys'>['data'][number]

/** The organization's keys, why a key is blocked, and a block by an administrator. */
export function KeysSection({ organizationId }: { readonly organizationId: string }) {
  const words = useWords(customerWords)
  const [chosen, setChosen] = useState<Key>()
  const list = useReadList('/admin/organizations/:organization_id/keys', {
    params: { organization_id: organizationId },
  })
  const isOurs = ({ blocked_by }: Key) => blocked_by.includes('admin')
  const columns: readonly Column<Key>[] = [
    {
      id: 'name',
      head: words.key,
      cell: ({ name }) => <bdi className="line-clamp-2 max-w-72 min-w-32 wrap-anywhere">{name}</bdi>,
    },
    {
      id: 'secret',
      head: words.secret,
      cell: ({ secret_hint }) => secret_hint && <code>{secret_hint}</code>,
    },
    {
      id: 'state',
      head: words.state,
      cell: ({ blocked_by }) =>
        blocked_by.length === 0 ? (
          <Badge tone="success">{words.active}</Badge>
        ) : (
          <>
            <Badge tone="danger">{words.blocked}</Badge>{' '}
            {blocked_by.map((by) => words.blockers[by]).join(', ')}
          </>
        ),
    },
    {
      id: 'spent',
      head: words.spent,
      isNumber: true,
      cell: ({ spent_today_rub }) => <Money rubles={spent_today_rub} isSpent />,
    },
    {
      id: 'action',
      head: words.block,
      cell: (key) => (
        <Button
          size="small"
          aria-label={isOurs(key) ? words.unblockKey(key.name) : words.blockKey(key.name)}
          onClick={() => setChosen(key)}
        >
          {isOurs(key) ? words.unblock : words.block}
        </Button>
      ),
    },
  ]
  return (
    <>
      <ListTable
        list={list}
        expectedCount={4}
        empty={words.empty}
        caption={words.keys}
        columns={columns}
        keyOf={({ id }) => id}
      />
      {chosen !== undefined && (
        <KeyDialog apiKey={chosen} isBlocked={isOurs(chosen)} onClose={() => setChosen(undefined)} />
      )}
    </>
  )
}

function KeyDialog({
  apiKey: { id, name },
  isBlocked,
  onClose,
}: {
  readonly apiKey: Key
  readonly isBlocked: boolean
  readonly onClose: () => void
}) {
  const words = useWords(customerWords)
  return (
    <ReasonDialog
      title={isBlocked ? words.unblockKey(name) : words.blockKey(name)}
      lead={words.keyLead}
      action={isBlocked ? words.unblock : words.block}
      isDanger={!isBlocked}
      send={(values) => {
        const change = { params: { key_id: id }, body: { reason: textOf(values, 'reason') } }
        return isBlocked
          ? call('POST /admin/keys/:key_id/unblock', change)
          : call('POST /admin/keys/:key_id/block', change)
      }}
      onDone={() => {
        announce(words.done)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    />
  )
}
