import type { Me } from '../../app/me.ts'
import { useWords } from '../../i18n/language.ts'
import { SelectField } from '../../kit/fields.tsx'
import { teamWords } from './messages.ts'

type Role = Me['organizations'][number]['role']

const roles: readonly Role[] = ['developer', 'accountant', 'owner']

/** A choice of role, with what each role may do. */
export function RoleField({ initial }: { readonly initial: Role }) {
  const words = useWords(teamWords)
  return (
    <SelectField name="role" label={words.role} hint={words.roleHint} defaultValue={initial}>
      {roles.map((each) => (
        <option key={each} value={each}>
          {words.roles[each]}
        </option>
      ))}
    </SelectField>
  )
}

/** The chosen role. */
export function roleIn(values: FormData): Role {
  return roles.find((role) => role === values.get('role')) ?? 'developer'
}
