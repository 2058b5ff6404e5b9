import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { readAgain } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, FormEnd } from '../../kit/form.tsx'
import { Section } from '../../kit/section.tsx'
import { announce } from '../../kit/toasts.tsx'
import type { Key } from './key.ts'
import { keyWords } from './messages.ts'

/** Revokes a key permanently after its name was typed. */
export function RevokeSection({ shown }: { readonly shown: Key }) {
  const words = useWords(keyWords)
  const [isOpen, setOpen] = useState(false)
  return (
    <Section title={words.revokeTitle} lead={words.revokeLead}>
      <Button variant="danger" onClick={() => setOpen(true)}>
        {words.revokeTitle}
      </Button>
      {isOpen && <RevokeDialog shown={shown} onClose={() => setOpen(false)} />}
    </Section>
  )
}

function RevokeDialog({
  shown: { id, name },
  onClose,
}: {
  readonly shown: Key
  readonly onClose: () => void
}) {
  const words = useWords(keyWords)
  return (
    <Dialog title={words.revokeTitle} onClose={onClose}>
      <Form
        check={(form) =>
          isSame(String(form.get('confirmation')), name) ? {} : { confirmation: words.revokeWrong }
        }
        send={() => call('DELETE /keys/:key_id', { params: { key_id: id } })}
        onDone={() => {
          announce(words.revoked)
          navigate('/app/keys', { replace: true })
          void readAgain('/keys', '/revoked-keys', '/overview')
        }}
      >
        <p>{words.revokeLead}</p>
        <p>
          {words.revokeConfirm}{' '}
          <strong className="font-semibold wrap-anywhere select-all">
            <bdi>{name}</bdi>
          </strong>
        </p>
        <TextField name="confirmation" label={words.revokeLabel} autoComplete="off" dir="auto" />
        <FormEnd variant="danger" send={words.revokeTitle} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

/** Blanks at the ends and the Unicode composition of characters are invisible to users. */
function isSame(typed: string, name: string): boolean {
  return typed.trim().normalize('NFC') === name.trim().normalize('NFC')
}
