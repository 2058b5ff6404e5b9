import { useRef, useState } from 'react'
import { readAgain } from '../../api/queries.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import type { Me } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Badge, Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Section } from '../../kit/section.tsx'
import { EnrolDialog } from './enrol-dialog.tsx'
import { focusBack } from './focus-back.ts'
import { settingsWords } from './messages.ts'
import { RenewCodesDialog } from './renew-codes-dialog.tsx'
import { TurnOffDialog } from './turn-off-dialog.tsx'

/** At this many recovery codes or fewer, the user should create new ones. */
const fewCodes = 3

/** The second factor: an authenticator app, and recovery codes in case it is lost. */
export function TotpSection({ me }: { readonly me: Me }) {
  const words = useWords(settingsWords)
  const part = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState<'enrol' | 'renew' | 'turn_off'>()

  async function close(): Promise<void> {
    setOpen(undefined)
    await readAgain('/me')
    focusBack(part)
  }

  return (
    <Section
      title={words.totp}
      lead={words.totpLead}
      actions={me.has_totp ? <Badge tone="success">{words.totpOn}</Badge> : <Badge>{words.totpOff}</Badge>}
    >
      <div ref={part} className="grid gap-4">
        {me.has_totp && <p className="text-muted">{words.codesLeft(me.recovery_codes_left)}</p>}
        {me.has_totp && me.recovery_codes_left <= fewCodes && (
          <Notice tone="warning">{words.fewCodes}</Notice>
        )}
        {!me.is_confirmed && !me.has_totp && <ConfirmFirst />}
        <Actions>
          {me.has_totp ? (
            <Button onClick={() => setOpen('renew')}>{words.renewCodes}</Button>
          ) : (
            me.is_confirmed && <Button onClick={() => setOpen('enrol')}>{words.turnOn}</Button>
          )}
          {me.has_totp && (
            <Button variant="quiet" onClick={() => setOpen('turn_off')}>
              {words.turnOff}
            </Button>
          )}
        </Actions>
      </div>
      {open === 'enrol' && <EnrolDialog onClose={() => void close()} />}
      {open === 'renew' && <RenewCodesDialog onClose={() => void close()} />}
      {open === 'turn_off' && <TurnOffDialog onClose={() => void close()} />}
    </Section>
  )
}
