import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { EmptyState, Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { announce } from '../../kit/toasts.tsx'
import { type MadeToken, NewTokenDialog } from './new-token-dialog.tsx'
import { tokenWords } from './token-messages.ts'
import { TokenSecretDialog } from './token-secret-dialog.tsx'

type Token = Answer<'GET /tokens'>['data'][number]

/** The management tokens of the organization; owners create and revoke them here. */
export function TokensSection() {
  const words = useWords(tokenWords)
  const tokens = useRead('/tokens')
  const isConfirmed = useIsConfirmed()
  const [isNew, setNew] = useState(false)
  const [made, setMade] = useState<MadeToken>()
  const [revoked, setRevoked] = useState<Token>()
  return (
    <Section
      title={words.tokens}
      lead={words.lead}
      isFlush
      actions={isConfirmed && <Button onClick={() => setNew(true)}>{words.create}</Button>}
    >
      {!isConfirmed && (
        <div className="px-5 pb-4">
          <ConfirmFirst />
        </div>
      )}
      <Loaded query={tokens} skeleton={<SkeletonRows count={1} />}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState text={words.empty} />
          ) : (
            <TokenTable tokens={data} onRevoke={setRevoked} />
          )
        }
      </Loaded>
      {isNew && (
        <NewTokenDialog
          onClose={() => setNew(false)}
          onMade={(answer) => {
            setNew(false)
            setMade(answer)
          }}
        />
      )}
      {made && <TokenSecretDialog made={made} onClose={() => setMade(undefined)} />}
      {revoked && <RevokeDialog token={revoked} onClose={() => setRevoked(undefined)} />}
    </Section>
  )
}

function TokenTable({
  tokens,
  onRevoke,
}: {
  readonly tokens: readonly Token[]
  readonly onRevoke: (token: Token) => void
}) {
  const words = useWords(tokenWords)
  const columns: readonly Column<Token>[] = [
    { id: 'name', head: words.name, cell: (token) => <Name token={token} /> },
    {
      id: 'scopes',
      head: words.scopes,
      cell: ({ scopes }) => scopes.map((scope) => words.shortScopes[scope]).join(', '),
    },
    { id: 'expires', head: words.expires, cell: (token) => <End token={token} /> },
    {
      id: 'used',
      head: words.lastUsed,
      cell: ({ last_used_at }) => (last_used_at === null ? words.never : <DateTime at={last_used_at} />),
    },
    {
      id: 'creator',
      head: words.creator,
      cell: ({ created_by }) => <bdi className="wrap-anywhere">{created_by}</bdi>,
    },
    {
      id: 'actions',
      head: words.actions,
      cell: (token) => (
        <Button size="small" aria-label={words.revokeOf(token.name)} onClick={() => onRevoke(token)}>
          {words.revoke}
        </Button>
      ),
    },
  ]
  return <Table caption={words.tokens} columns={columns} rows={tokens} keyOf={({ id }) => id} />
}

function Name({ token: { name, secret_hint } }: { readonly token: Token }) {
  return (
    <span className="grid max-w-72 justify-items-start gap-1">
      <bdi className="line-clamp-2 wrap-anywhere">{name}</bdi>
      <code className="font-mono text-xs font-normal whitespace-nowrap text-muted">{secret_hint}</code>
    </span>
  )
}

function End({ token: { status, expires_at } }: { readonly token: Token }) {
  const words = useWords(tokenWords)
  return (
    <span className="flex flex-wrap items-center gap-2">
      <DateTime at={expires_at} />
      {status === 'expired' && <Badge tone="warning">{words.expired}</Badge>}
    </span>
  )
}

function RevokeDialog({
  token: { id, name },
  onClose,
}: {
  readonly token: Token
  readonly onClose: () => void
}) {
  const words = useWords(tokenWords)
  return (
    <Dialog title={words.revokeTitle} onClose={onClose}>
      <Form
        send={() => call('DELETE /tokens/:token_id', { params: { token_id: id } })}
        onDone={() => {
          announce(words.revoked)
          onClose()
          void readAgain('/tokens')
        }}
      >
        <p className="wrap-anywhere">{words.revokeLead(name)}</p>
        <FormEnd variant="danger" send={words.revoke} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
