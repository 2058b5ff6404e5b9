import { useWords } from '../i18n/language.ts'
import { Icon } from '../kit/icon.tsx'
import { useMe } from './me.ts'
import { Menu } from './menu.tsx'
import { organizationWords } from './organization-messages.ts'
import { nameOf, openOrganization } from './organizations.ts'

/** The organization of this tab; for members of several, a menu that opens another. */
export function OrganizationMenu() {
  const words = useWords(organizationWords)
  const me = useMe().data
  if (me === undefined) return null
  const { organization, organizations } = me
  const name = organization === null ? words.noOrganization : nameOf(organization)
  const isOnly = organizations.length === (organization === null ? 0 : 1)
  if (isOnly) return <p className="min-w-0 truncate text-sm text-muted max-sm:hidden">{name}</p>
  return (
    <Menu icon="down" label={words.chooseOrganization(name)} text={name}>
      <OrganizationList />
    </Menu>
  )
}

/** The user's organizations; choosing one opens it in this tab. */
export function OrganizationList() {
  const words = useWords(organizationWords)
  const me = useMe().data
  if (me === undefined) return null
  return (
    <ul aria-label={words.organizations} className="grid gap-1">
      {me.organizations.map((each) => {
        const isHere = each.id === me.organization?.id
        return (
          <li key={each.id}>
            <button
              type="button"
              aria-current={isHere ? 'true' : undefined}
              className="flex min-h-10 w-full items-center gap-2 rounded-md px-3 py-1 text-start text-base hover:bg-hover"
              onClick={() => openOrganization(me, each.id)}
            >
              <span className="min-w-0 flex-1">
                <bdi className="block wrap-anywhere">{nameOf(each)}</bdi>
                <span className="text-sm text-muted">{words.roles[each.role]}</span>
              </span>
              {isHere && <Icon name="check" />}
            </button>
          </li>
        )
      })}
    </ul>
  )
}
