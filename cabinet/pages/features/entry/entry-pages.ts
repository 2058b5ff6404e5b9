import type { PageGroup } from '../../app/page-group.ts'
import { EmailChangePage } from './email-change-page.tsx'
import { LoginPage } from './login-page.tsx'
import { RegisterPage } from './register-page.tsx'
import { ResetPage } from './reset-page.tsx'
import { TotpPage } from './totp-page.tsx'
import { TotpResetPage } from './totp-reset-page.tsx'
import { VerifyEmailPage } from './verify-email-page.tsx'

export const entryPages: PageGroup<
  '/login' | '/login/totp' | '/register' | '/verify-email' | '/reset' | '/totp-reset' | '/email-change'
> = {
  '/login': LoginPage,
  '/login/totp': TotpPage,
  '/register': RegisterPage,
  '/verify-email': VerifyEmailPage,
  '/reset': ResetPage,
  '/totp-reset': TotpResetPage,
  '/email-change': EmailChangePage,
}
