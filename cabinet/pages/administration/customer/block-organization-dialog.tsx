import { textOf } from '../../features/entry/checks.ts'
import { useWords } from '../../i18n/language.ts'
import { announce } from '../../kit/toasts.tsx'
import { type Answer, call, readAgain } from '../calls.ts'
import { ReasonDialog } from '../reason-dialog.tsx'
import { customerWords } from './messages.ts'

/** Blocks all keys of an organization, also those that it creates later, or lifts that block. */
export function BlockOrganizationDialog({
  organization: { id, blocked_at },
  onClose,
}: {
  readonly organization: Answer<'GET /admin/organizations/:organization_id'>['organization']
  readonly onClose: () => void
}) {
  const words = useWords(customerWords)
  const isBlocked = blocked_at !== null
  return (
    <ReasonDialog
      title={isBlocked ? words.unblockOrganization : words.blockOrganization}
      lead={isBlocked ? words.unblockOrganizationLead : words.blockOrganizationLead}
      action={isBlocked ? words.unblock : words.block}
      isDanger={!isBlocked}
      send={(values) => {
        const change = { params: { organization_id: id }, body: { reason: textOf(values, 'reason') } }
        return isBlocked
          ? call('POST /admin/organizations/:organization_id/unblock', change)
          : call('POST /admin/organizations/:organization_id/block', change)
      }}
      onDone={() => {
        announce(words.done)
        void readAgain('/admin/organizations/:organization_id')
      }}
      onClose={onClose}
    />
  )
}
