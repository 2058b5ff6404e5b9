import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Actions } from '../../kit/dialog.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { announce } from '../../kit/toasts.tsx'
import { Delivery } from './delivery.tsx'
import { notificationWords } from './notification-messages.ts'

type Webhook = NonNullable<Answer<'GET /notifications'>['webhook']>

const urlLengthMax = 2048

/** Sets the address of webhooks. `onSecret` gets the secret, which no later response has. */
export function WebhookForm({ onSecret }: { readonly onSecret: (secret: string) => void }) {
  const words = useWords(notificationWords)
  return (
    <Form
      check={(values) => ({ url: errorOf(urlIn(values)) })}
      send={(values) => call('POST /notifications/webhook', { body: { url: urlIn(values) } })}
      errorsOf={({ code }) => (code === 'validation_failed' ? { url: words.urlWrong } : undefined)}
      onDone={({ secret }) => {
        onSecret(secret)
        void readAgain('/notifications')
      }}
    >
      <TextField
        name="url"
        type="url"
        label={words.url}
        hint={words.urlHint}
        maxLength={urlLengthMax}
        autoComplete="off"
        spellCheck={false}
        dir="ltr"
      />
      <div>
        <SubmitButton variant="secondary">{words.setUrl}</SubmitButton>
      </div>
    </Form>
  )

  function errorOf(typed: string): string | undefined {
    if (typed === '') return words.urlMissing
    return /^https?:\/\/./.test(typed) ? undefined : words.urlWrong
  }
}

const urlIn = (values: FormData) => String(values.get('url')).trim()

/** `onSecret` is absent for users who may not create one. */
export function PresentWebhook({
  webhook: { url, last_delivery },
  onSecret,
}: {
  readonly webhook: Webhook
  readonly onSecret: ((secret: string) => void) | undefined
}) {
  const words = useWords(notificationWords)
  const renew = useChange(async () => {
    const { secret } = await call('POST /notifications/webhook', { body: { url } })
    onSecret?.(secret)
  })
  const remove = useChange(async () => {
    await call('DELETE /notifications/webhook')
    announce(words.removed)
    await readAgain('/notifications')
  })
  return (
    <div className="grid gap-3">
      <p className="font-mono text-sm wrap-anywhere">
        <bdi>{url}</bdi>
      </p>
      <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
        {words.lastDelivery}: {last_delivery === null ? words.none : <Delivery delivery={last_delivery} />}
      </p>
      <Actions>
        {onSecret !== undefined && (
          <Button isPending={renew.isPending} onClick={renew.start}>
            {words.newSecret}
          </Button>
        )}
        <Button isPending={remove.isPending} onClick={remove.start}>
          {words.remove}
        </Button>
      </Actions>
      {renew.problem !== undefined && <ProblemNote problem={renew.problem} fallback={words.notRenewed} />}
      {remove.problem !== undefined && <ProblemNote problem={remove.problem} fallback={words.notRemoved} />}
    </div>
  )
}
