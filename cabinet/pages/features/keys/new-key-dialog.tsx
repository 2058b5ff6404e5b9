import { call } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain } from '../../api/queries.ts'
import { serverNowMs } from '../../api/server-clock.ts'
import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { KeyFields } from './key-fields.tsx'
import { bodyOf, checkValues, keyErrorsOf, noValues, typedValues } from './key-values.ts'
import { keyWords } from './messages.ts'

export type MadeKey = Answer<'POST /keys'>

export function NewKeyDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void
  readonly onMade: (made: MadeKey) => void
}) {
  const words = useWords(keyWords)
  return (
    <Dialog title={words.createTitle} onClose={onClose}>
      <Form
        check={(form) => checkValues(typedValues(form), words, serverNowMs())}
        send={(form, idempotencyKey) =>
          call('POST /keys', { body: { ...bodyOf(typedValues(form)), unique_name: true }, idempotencyKey })
        }
        errorsOf={(problem) => keyErrorsOf(problem, words)}
        onDone={(made) => {
          void readAgain('/keys', '/overview')
          onMade(made)
        }}
      >
        <KeyFields values={noValues} />
        <FormEnd send={words.create} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
