import { useRead } from '../../api/queries.ts'
import { nameOf } from '../../app/organizations.ts'
import { useWords } from '../../i18n/language.ts'
import { Notice } from '../../kit/badge.tsx'
import { LinkedText } from '../../kit/text-link.tsx'
import { receivedWords } from './received-messages.ts'

/** Invitations that the user has not answered yet; nothing without them. */
export function ReceivedInvitations() {
  const words = useWords(receivedWords)
  const received = useRead('/me/invitations').data?.data ?? []
  return received.map(({ id, organization }) => (
    <Notice key={id} tone="accent">
      <LinkedText text={words.invitation(nameOf(organization))} href={`/app/invitations/${id}`} />
    </Notice>
  ))
}
