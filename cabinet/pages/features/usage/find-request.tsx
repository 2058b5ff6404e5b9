import { navigate } from 'wouter/use-browser-location'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { usageWords } from './messages.ts'

/** From any id that a client received to its receipt or rejection. */
export function FindRequest() {
  const words = useWords(usageWords)
  const idIn = (values: FormData) => String(values.get('request_id')).normalize('NFKC').replace(/\s/g, '')
  return (
    <Form
      check={(values) => ({ request_id: idIn(values) === '' ? words.requestIdMissing : undefined })}
      send={async (values) => navigate(`/app/requests/${encodeURIComponent(idIn(values))}`)}
    >
      <div className="not-on-paper flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="w-full max-w-md min-w-0">
          <TextField
            name="request_id"
            label={words.requestId}
            hint={words.requestIdHint}
            autoComplete="off"
            spellCheck={false}
          />
        </div>
        <div className="sm:pt-6.5">
          <SubmitButton variant="secondary">{words.find}</SubmitButton>
        </div>
      </div>
    </Form>
  )
}
