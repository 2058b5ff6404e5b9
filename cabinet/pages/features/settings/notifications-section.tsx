import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useRead } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { ConfirmFirst } from '../../app/confirm-first.tsx'
import { useIsConfirmed } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { CheckboxField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { LeaveSecret, SecretOnce } from '../../kit/secret-once.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { notificationWords } from './notification-messages.ts'
import { TelegramPart } from './telegram-part.tsx'
import { PresentWebhook, WebhookForm } from './webhook-form.tsx'

type Notifications = Answer<'GET /notifications'>

/** The alerts of the organization, and where they go; for its owners. */
export function NotificationsSection() {
  const words = useWords(notificationWords)
  const notifications = useRead('/notifications')
  const isConfirmed = useIsConfirmed()
  const [secret, setSecret] = useState<string>()
  return (
    <Section title={words.notifications} lead={words.lead}>
      <Loaded query={notifications} skeleton={<Skeleton heightRem={20} />}>
        {(present) => (
          <div className="grid gap-6">
            <AlertsForm notifications={present} />
            <div className="grid gap-3 border-t border-line pt-4">
              <h3 className="text-base font-medium">{words.webhook}</h3>
              <p className="text-sm text-muted">{words.webhookLead}</p>
              {!isConfirmed && <ConfirmFirst />}
              {present.webhook !== null && (
                <PresentWebhook webhook={present.webhook} onSecret={isConfirmed ? setSecret : undefined} />
              )}
              {present.webhook === null && isConfirmed && <WebhookForm onSecret={setSecret} />}
            </div>
            {present.telegram !== null && (
              <TelegramPart telegram={present.telegram} isConfirmed={isConfirmed} />
            )}
            {isConfirmed && <TestButton />}
          </div>
        )}
      </Loaded>
      {secret !== undefined && (
        <Dialog title={words.secretTitle} isDismissible={false} onClose={() => setSecret(undefined)}>
          <p>{words.secretLead}</p>
          <SecretOnce secret={secret} label={words.secretLabel} />
          <LeaveSecret secret={secret} words={words} onClose={() => setSecret(undefined)} />
        </Dialog>
      )}
    </Section>
  )
}

function AlertsForm({ notifications: { budgets, spend_spike } }: { readonly notifications: Notifications }) {
  const words = useWords(notificationWords)
  return (
    <Form
      key={`${budgets} ${spend_spike}`}
      send={(values) =>
        call('PATCH /notifications', {
          body: { budgets: values.has('budgets'), spend_spike: values.has('spend_spike') },
        })
      }
      onDone={() => {
        announce(words.applied)
        void readAgain('/notifications')
      }}
    >
      <CheckboxField name="budgets" hint={words.budgetsHint} defaultChecked={budgets}>
        {words.budgets}
      </CheckboxField>
      <CheckboxField name="spend_spike" hint={words.spikeHint} defaultChecked={spend_spike}>
        {words.spike}
      </CheckboxField>
      <div>
        <SubmitButton variant="secondary">{words.apply}</SubmitButton>
      </div>
    </Form>
  )
}

function TestButton() {
  const words = useWords(notificationWords)
  const test = useChange(async () => {
    const { email, webhook, telegram } = await call('POST /notifications/test')
    const others = [...(webhook ? [words.webhook] : []), ...(telegram ? [words.telegram] : [])]
    announce(words.testSent([email, ...others].join(', ')))
    await readAgain('/notifications')
  })
  return (
    <div className="grid gap-3">
      <div>
        <Button isPending={test.isPending} onClick={test.start}>
          {words.test}
        </Button>
      </div>
      {test.problem !== undefined && <ProblemNote problem={test.problem} fallback={words.notTested} />}
    </div>
  )
}
