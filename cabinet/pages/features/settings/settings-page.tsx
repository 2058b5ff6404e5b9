import { chooseLanguage, type Me, useMay, useMe } from '../../app/me.ts'
import { Preferences } from '../../app/preferences-menu.tsx'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { Badge } from '../../kit/badge.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { PageHead, Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { pageRoutes } from '../../page-routes.ts'
import { ConsentsSection } from './consents-section.tsx'
import { DataSection } from './data-section.tsx'
import { EmailForm } from './email-form.tsx'
import { settingsWords } from './messages.ts'
import { NotificationsSection } from './notifications-section.tsx'
import { OrganizationSection } from './organization-section.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { PasswordForm } from './password-form.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { TotpSection } from './totp-section.tsx'

/** The user's own settings: sign-in, sessions and consents. */
export function SettingsPage() {
  const words = useWords(settingsWords)
  const title = pageRoutes['/app/settings'].title[useLanguage()]
  const me = useMe()
  const mayChange = useMay('organization.write')
  return (
    <>
      <PageHead title={title} lead={words.lead} />
      <div className="grid max-w-4xl gap-6">
        <Loaded query={me} skeleton={<Skeleton heightRem={40} />}>
          {(person) => (
            <>
              <ProfileSection me={person} />
              {mayChange && <OrganizationSection />}
              {mayChange && <NotificationsSection />}
              <TotpSection me={person} />
              <PasskeysSection me={person} />
              <SessionsSection />
              <ConsentsSection />
              <DataSection />
            </>
          )}
        </Loaded>
        <Section title={words.appearance} lead={words.appearanceLead}>
          <div className="-mx-2 max-w-xs">
            <Preferences onLanguage={chooseLanguage} />
          </div>
        </Section>
      </div>
    </>
  )
}

function ProfileSection({ me }: { readonly me: Me }) {
  const words = useWords(settingsWords)
  return (
    <Section title={words.profile}>
      <dl className="mb-5 grid gap-3 sm:grid-cols-2">
        <div className="min-w-0">
          <dt className="text-sm text-muted">{words.email}</dt>
          <dd className="flex flex-wrap items-center gap-2 break-all">
            {me.email}
            {!me.is_confirmed && <Badge tone="warning">{words.notConfirmed}</Badge>}
          </dd>
        </div>
        {me.organization !== null && (
          <div className="min-w-0">
            <dt className="text-sm text-muted">{words.organization}</dt>
            <dd className="break-words">
              {me.organization.display_name ?? me.organization.name}
              <span className="text-muted"> — {words.roles[me.organization.role]}</span>
            </dd>
          </div>
        )}
      </dl>
      <div className="grid gap-3">
        {me.is_confirmed && <EmailForm me={me} />}
        <PasswordForm email={me.email} />
      </div>
    </Section>
  )
}
