import { call } from '../../api/call.ts'
import type { Answer, Input } from '../../api/calls.ts'
import { readAgain } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { CheckboxField, SelectField, TextField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { tokenWords } from './token-messages.ts'

export type MadeToken = Answer<'POST /tokens'>

type Scope = Input<'POST /tokens'>['body']['scopes'][number]

const scopes: readonly Scope[] = ['keys', 'usage', 'billing']
const spans = [30, 90, 365] as const
const nameMax = 100

export function NewTokenDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void
  readonly onMade: (made: MadeToken) => void
}) {
  const words = useWords(tokenWords)
  return (
    <Dialog title={words.create} onClose={onClose}>
      <Form
        check={(values) => ({
          name: isName(nameIn(values)) ? undefined : words.nameWrong,
          scope_keys: scopesIn(values).length > 0 ? undefined : words.scopesWrong,
        })}
        send={(values, idempotencyKey) =>
          call('POST /tokens', {
            body: {
              name: nameIn(values),
              scopes: [...scopesIn(values)],
              expires_in_days: Number(values.get('expires_in_days')),
            },
            idempotencyKey,
          })
        }
        onDone={(made) => {
          void readAgain('/tokens')
          onMade(made)
        }}
      >
        <TextField name="name" label={words.name} autoComplete="off" dir="auto" />
        <fieldset className="grid gap-2">
          <legend className="mb-1.5 text-sm font-medium">{words.scopes}</legend>
          {scopes.map((scope) => (
            <CheckboxField key={scope} name={`scope_${scope}`}>
              {words.scopeWords[scope]}
            </CheckboxField>
          ))}
        </fieldset>
        <SelectField name="expires_in_days" label={words.days} defaultValue={90}>
          {spans.map((days) => (
            <option key={days} value={days}>
              {words.daysOf[days]}
            </option>
          ))}
        </SelectField>
        <FormEnd send={words.create} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

const nameIn = (values: FormData) => String(values.get('name')).trim()

const isName = (name: string) => name !== '' && [...name].length <= nameMax

const scopesIn = (values: FormData) => scopes.filter((scope) => values.has(`scope_${scope}`))
