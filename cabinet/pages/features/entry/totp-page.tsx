import { useState } from 'react'
import { navigate, useSearch } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { onlyErrors, textOf } from './checks.ts'
import { enter } from './enter.ts'
import { EntryCard } from './entry-card.tsx'
import { entryWords } from './messages.ts'

/** For users whose password was right and who have a second factor. */
export function TotpPage() {
  const words = useWords(entryWords)
  const search = useSearch()
  const [factor, setFactor] = useState<'code' | 'recovery_code'>('code')
  const isCode = factor === 'code'
  const login = `/login${search}`

  const errorsOf = ({ code, title, detail }: ApiProblem) => {
    if (code === 'unauthenticated') navigate(login, { replace: true })
    return code === 'invalid_code' ? { [factor]: detail || title } : undefined
  }

  return (
    <EntryCard
      title={words.totpTitle}
      lead={words.totpLead}
      below={<LinkedText text={words.totpAgain} href={login} />}
    >
      <Form
        check={(values) =>
          onlyErrors({
            code: isCode && !/^\s*(?:\d\s*){6}$/.test(textOf(values, 'code')) ? words.codeMissing : undefined,
            recovery_code:
              !isCode && textOf(values, 'recovery_code').trim() === '' ? words.recoveryMissing : undefined,
          })
        }
        send={(values) =>
          call('POST /auth/login/totp', { body: { [factor]: textOf(values, factor).trim() } })
        }
        errorsOf={errorsOf}
        onDone={() => enter(search)}
      >
        {isCode ? (
          <TextField
            key="code"
            name="code"
            label={words.code}
            inputMode="numeric"
            autoComplete="one-time-code"
          />
        ) : (
          <TextField key="recovery" name="recovery_code" label={words.recoveryCode} autoComplete="off" />
        )}
        <SubmitButton>{words.confirm}</SubmitButton>
        <Button variant="quiet" onClick={() => setFactor(isCode ? 'recovery_code' : 'code')}>
          {isCode ? words.useRecovery : words.useCode}
        </Button>
      </Form>
    </EntryCard>
  )
}
