import { useState } from 'react'
import { call } from '../../api/call.ts'
import { forgetOrganization } from '../../api/organization.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { Section } from '../../kit/section.tsx'
import { teamWords } from './messages.ts'

/** Leaves the organization; the last owner learns why not. */
export function LeaveSection() {
  const words = useWords(teamWords)
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <Section title={words.leaveTitle} lead={words.leaveLead}>
      <Button onClick={() => setOpen(true)}>{words.leave}</Button>
      {isOpen && (
        <Dialog title={words.leaveTitle} onClose={close}>
          <Form
            send={() => call('DELETE /membership')}
            onDone={() => {
              forgetOrganization()
              location.assign('/app')
            }}
          >
            <p>{words.leaveConfirm}</p>
            <FormEnd variant="danger" send={words.leave} onCancel={close} />
          </Form>
        </Dialog>
      )}
    </Section>
  )
}
