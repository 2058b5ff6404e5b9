import { call } from '../../api/call.ts'
import { readAgain } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { SelectField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import type { Key } from './key.ts'
import { keyWords } from './messages.ts'
import type { MadeKey } from './new-key-dialog.tsx'

const graces = ['24h', '1h', '0'] as const

export function RotateDialog({
  shown,
  onClose,
  onRotated,
}: {
  readonly shown: Key
  readonly onClose: () => void
  readonly onRotated: (made: MadeKey) => void
}) {
  const words = useWords(keyWords)
  const nameOf = { '24h': words.graceDay, '1h': words.graceHour, '0': words.graceNone }
  return (
    <Dialog title={words.rotateTitle} onClose={onClose}>
      <Form
        send={(form, idempotencyKey) => {
          const grace = graces.find((one) => one === form.get('grace')) ?? '24h'
          const params = { key_id: shown.id }
          return call('POST /keys/:key_id/rotate', { params, body: { grace }, idempotencyKey })
        }}
        onDone={(made) => {
          void readAgain('/keys')
          onRotated(made)
        }}
      >
        <p>{words.rotateLead}</p>
        <SelectField name="grace" label={words.grace}>
          {graces.map((grace) => (
            <option key={grace} value={grace}>
              {nameOf[grace]}
            </option>
          ))}
        </SelectField>
        <FormEnd send={words.rotate} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}
