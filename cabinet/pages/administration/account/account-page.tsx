import { useState } from 'react'
import { administrationRoutes } from '../../administration-routes.ts'
import { settingsWords } from '../../features/settings/messages.ts'
import { RenewCodesDialog } from '../../features/settings/renew-codes-dialog.tsx'
import { SessionsSection } from '../../features/settings/sessions-section.tsx'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { Button } from '../../kit/button.tsx'
import { DateTime } from '../../kit/date-time.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import type { Answer } from '../calls.ts'
import { readAgain } from '../calls.ts'
import { useMe } from '../me.ts'
import { adminWords } from '../messages.ts'
import { askForCode } from '../step-up.tsx'

/** The administrator's second factor and sessions. */
export function AccountPage() {
  const words = useWords(adminWords)
  const title = administrationRoutes['/app/account'].title[useLanguage()]
  const me = useMe()
  return (
    <>
      <PageHead title={title} lead={words.accountLead} />
      <div className="grid max-w-4xl gap-6">
        <Loaded query={me} skeleton={<Skeleton heightRem={12} />}>
          {(administrator) => <FactorSection me={administrator} />}
        </Loaded>
        <SessionsSection />
      </div>
    </>
  )
}

const fewCodes = 3

function FactorSection({ me }: { readonly me: Answer<'GET /me'> }) {
  const words = useWords(adminWords)
  const settings = useWords(settingsWords)
  const [isRenewing, setRenewing] = useState(false)

  async function enterCode(): Promise<void> {
    if (await askForCode()) announce(words.codeAccepted)
  }

  return (
    <Section title={words.factor} lead={me.email}>
      <div className="grid gap-4">
        <p>
          {words.lastCode} <DateTime at={me.mfa_at} />. {settings.codesLeft(me.recovery_codes_left)}
        </p>
        {me.recovery_codes_left < fewCodes && <Notice tone="warning">{settings.fewCodes}</Notice>}
        <Actions>
          <Button onClick={() => void enterCode()}>{words.enterCode}</Button>
          <Button onClick={() => setRenewing(true)}>{settings.renewCodes}</Button>
        </Actions>
      </div>
      {isRenewing && (
        <RenewCodesDialog
          onClose={() => {
            setRenewing(false)
            void readAgain('/me')
          }}
        />
      )}
    </Section>
  )
}
