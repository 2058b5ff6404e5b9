import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { TextLink } from '../../kit/text-link.tsx'
import { announce } from '../../kit/toasts.tsx'
import { Delivery } from './delivery.tsx'
import { notificationWords } from './notification-messages.ts'

type Telegram = NonNullable<Answer<'GET /notifications'>['telegram']>
type Opening = Answer<'POST /notifications/telegram'>

/** While a chat is being linked: the bot learns of it outside of the cabinet. */
const linkingMs = 3_000

/** The chat that gets the alerts. `isConfirmed`: the user may link one. */
export function TelegramPart({
  telegram,
  isConfirmed,
}: {
  readonly telegram: Telegram
  readonly isConfirmed: boolean
}) {
  const words = useWords(notificationWords)
  /** What the last link was made for: it is hidden once that has changed. */
  const [opening, setOpening] = useState<Opening & { readonly from: string }>()
  const state = `${telegram.status} ${telegram.last_delivery?.created_at}`
  const shown = opening?.from === state ? opening : undefined
  useRead('/notifications', {}, { refetchInterval: shown !== undefined && linkingMs })
  const link = useChange(async () => {
    setOpening({ ...(await call('POST /notifications/telegram')), from: state })
  })
  return (
    <div className="grid gap-3 border-t border-line pt-4">
      <h3 className="text-base font-medium">{words.telegram}</h3>
      <p className="text-sm text-muted">{words.telegramLead}</p>
      <Present telegram={telegram} />
      {!isConfirmed && <ConfirmFirst />}
      <Actions>
        {isConfirmed && (
          <Button isPending={link.isPending} onClick={link.start}>
            {telegram.status === 'linked' ? words.linkOther : words.linkChat}
          </Button>
        )}
        {telegram.status !== 'off' && <Unlink onDone={() => setOpening(undefined)} />}
      </Actions>
      {link.problem !== undefined && <ProblemNote problem={link.problem} fallback={words.notLinked} />}
      <div role="status" className="grid gap-1 text-sm empty:hidden">
        {shown !== undefined && (
          <>
            <p>
              <TextLink href={shown.url} isNewTab>
                {words.openBot}
              </TextLink>
            </p>
            <p className="text-muted">
              {words.pressStart} <DateTime at={shown.expires_at} />
            </p>
          </>
        )}
      </div>
    </div>
  )
}

function Present({
  telegram: { status, chat_name, ended_reason, last_delivery },
}: {
  readonly telegram: Telegram
}) {
  const words = useWords(notificationWords)
  if (status === 'off') return null
  return (
    <>
      <p className="wrap-anywhere">
        {words.chat}: <bdi className="font-medium">{chat_name}</bdi>
      </p>
      {ended_reason !== null && (
        <p role="alert" className="text-sm text-danger">
          {words.endedBecause[ended_reason]}
        </p>
      )}
      {last_delivery !== null && (
        <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
          {words.lastDelivery}: <Delivery delivery={last_delivery} />
        </p>
      )}
    </>
  )
}

function Unlink({ onDone }: { readonly onDone: () => void }) {
  const words = useWords(notificationWords)
  const unlink = useChange(async () => {
    await call('DELETE /notifications/telegram')
    onDone()
    announce(words.unlinked)
    await readAgain('/notifications')
  })
  return (
    <>
      <Button isPending={unlink.isPending} onClick={unlink.start}>
        {words.unlink}
      </Button>
      {unlink.problem !== undefined && <ProblemNote problem={unlink.problem} fallback={words.notUnlinked} />}
    </>
  )
}
