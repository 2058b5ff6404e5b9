import { callVersioned, type Versioned } from '../../api/call.ts'
import type { Answer } from '../../api/calls.ts'
import { readAgain, useReadVersioned } from '../../api/queries.ts'
import { useWords } from '../../i18n/language.ts'
import { TextField } from '../../kit/fields.tsx'
import { Form, SubmitButton } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Section } from '../../kit/section.tsx'
import { Skeleton } from '../../kit/skeleton.tsx'
import { announce } from '../../kit/toasts.tsx'
import { settingsWords } from './messages.ts'

type Organization = Versioned<Answer<'GET /organization'>>

const nameLengthMax = 100
const zones = Intl.supportedValuesOf('timeZone')

/** The organization's name and time zone, for its owners. */
export function OrganizationSection() {
  const words = useWords(settingsWords)
  const organization = useReadVersioned('/organization')
  return (
    <Section title={words.organization} lead={words.organizationLead}>
      <Loaded query={organization} skeleton={<Skeleton heightRem={16} />}>
        {(versioned) => <OrganizationForm key={versioned.etag} organization={versioned} />}
      </Loaded>
    </Section>
  )
}

function OrganizationForm({ organization: { body, etag } }: { readonly organization: Organization }) {
  const words = useWords(settingsWords)
  const { name, display_name, time_zone } = body
  return (
    <Form
      check={(values) => ({
        time_zone: typedIn(values, 'time_zone') === '' ? words.timeZoneMissing : undefined,
      })}
      send={(values) => {
        const typedName = typedIn(values, 'display_name')
        return callVersioned('PATCH /organization', {
          body: {
            display_name: typedName === '' ? null : typedName,
            time_zone: typedIn(values, 'time_zone'),
          },
          ifMatch: etag ?? '',
        })
      }}
      onDone={() => {
        announce(words.organizationSaved)
        void readAgain('/organization', '/me', '/overview', '/usage')
      }}
    >
      <TextField
        name="display_name"
        label={words.organizationName}
        hint={words.organizationNameHint(name)}
        defaultValue={display_name ?? ''}
        maxLength={nameLengthMax}
        autoComplete="off"
        dir="auto"
      />
      <TextField
        name="time_zone"
        label={words.timeZone}
        hint={words.timeZoneHint}
        defaultValue={time_zone}
        list="time-zones"
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id="time-zones">
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <div>
        <SubmitButton variant="secondary">{words.saveOrganization}</SubmitButton>
      </div>
    </Form>
  )
}

const typedIn = (values: FormData, field: string) => String(values.get(field)).trim()
