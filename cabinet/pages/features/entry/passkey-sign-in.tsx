import { useSearch } from 'wouter/use-browser-location'
import { call } from '../../api/call.ts'
import { forgetOrganization } from '../../api/organization.ts'
import { hasPasskeys, signWithPasskey } from '../../api/passkeys.ts'
import { useChange } from '../../api/use-change.ts'
import { useWords } from '../../i18n/language.ts'
import { Button } from '../../kit/button.tsx'
import { ProblemNote } from '../../kit/problem-note.tsx'
import { enter } from './enter.ts'
import { entryWords } from './messages.ts'

/** Signs in with a passkey of this device, where the browser can. */
export function PasskeySignIn() {
  const words = useWords(entryWords)
  const search = useSearch()
  const signIn = useChange(async () => {
    const credential = await signWithPasskey(await call('POST /auth/passkey/challenge'))
    if (credential === undefined) return
    const { email } = await call('POST /auth/login/passkey', { body: { credential } })
    forgetOrganization(email)
    enter(search)
  })
  if (!hasPasskeys()) return null
  return (
    <div className="grid gap-4 border-t border-line pt-6">
      <Button isPending={signIn.isPending} onClick={signIn.start}>
        {words.passkey}
      </Button>
      {signIn.problem !== undefined && (
        <ProblemNote problem={signIn.problem} fallback={words.passkeyFailed} />
      )}
    </div>
  )
}
