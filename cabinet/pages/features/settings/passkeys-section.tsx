import { useRef, useState } from 'react'
import type { Answer } from '../../api/calls.ts'
import { hasPasskeys } from '../../api/passkeys.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import type { Me } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { SkeletonRows } from '../../kit/skeleton.tsx'
import { focusBack } from './focus-back.ts'
import { AddPasskeyDialog, RemovePasskeyDialog } from './passkey-dialogs.tsx'
import { passkeyWords } from './passkey-messages.ts'

type Passkey = Answer<'GET /me/passkeys'>['data'][number]

/** The user's passkeys, which sign in without a password and a code. */
export function PasskeysSection({ me }: { readonly me: Me }) {
  const words = useWords(passkeyWords)
  const part = useRef<HTMLDivElement>(null)
  const passkeys = useRead('/me/passkeys')
  const [open, setOpen] = useState<'add' | Passkey>()

  async function close(): Promise<void> {
    setOpen(undefined)
    await readAgain('/me/passkeys')
    focusBack(part)
  }

  return (
    <Section title={words.passkeys} lead={words.lead}>
      <div ref={part} className="grid gap-4">
        <Loaded query={passkeys} skeleton={<SkeletonRows count={1} />}>
          {({ data }) =>
            data.length === 0 ? (
              <p className="text-muted">{words.none}</p>
            ) : (
              <ul className="grid">
                {data.map((passkey) => (
                  <PasskeyRow key={passkey.id} passkey={passkey} onRemove={() => setOpen(passkey)} />
                ))}
              </ul>
            )
          }
        </Loaded>
        {!me.is_confirmed && <ConfirmFirst />}
        {!hasPasskeys() && <Notice>{words.unsupported}</Notice>}
        {me.is_confirmed && hasPasskeys() && (
          <Actions>
            <Button onClick={() => setOpen('add')}>{words.add}</Button>
          </Actions>
        )}
      </div>
      {open === 'add' && <AddPasskeyDialog hasTotp={me.has_totp} onClose={() => void close()} />}
      {open !== undefined && open !== 'add' && (
        <RemovePasskeyDialog passkey={open} onClose={() => void close()} />
      )}
    </Section>
  )
}

function PasskeyRow({ passkey, onRemove }: { readonly passkey: Passkey; readonly onRemove: () => void }) {
  const words = useWords(passkeyWords)
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line py-3 last:border-b-0 last:pb-0">
      <div className="min-w-0">
        <p className="font-medium break-words">{passkey.name}</p>
        <p className="text-sm text-muted">
          {words.added} <DateTime at={passkey.created_at} />
          {' · '}
          {passkey.last_used_at === null ? (
            words.neverUsed
          ) : (
            <>
              {words.lastUsed} <DateTime at={passkey.last_used_at} />
            </>
          )}
        </p>
      </div>
      <Button size="small" aria-label={words.removeOf(passkey.name)} onClick={onRemove}>
        {words.remove}
      </Button>
    </li>
  )
}
