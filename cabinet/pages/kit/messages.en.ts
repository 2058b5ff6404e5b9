import { plural } from '../i18n/plural.ts'
import { roundWait } from '../i18n/wait.ts'
import type { ru } from './messages.ru.ts'

const waitForms = {
  second: { one: 'second', other: 'seconds' },
  minute: { one: 'minute', other: 'minutes' },
  hour: { one: 'hour', other: 'hours' },
} as const

export const en: typeof ru = {
  showPassword: 'Show',
  hidePassword: 'Hide',
  copy: 'Copy',
  copied: 'Copied',
  notCopied: 'The browser did not allow copying. Select the text and copy it manually.',
  copyRequestId: 'Copy the request id',
  copyCode: 'Copy the code',
  codeLanguage: 'Language of the example',
  requestId: 'Request id:',
  filters: (setCount: number) => (setCount === 0 ? 'Filters' : `Filters: ${setCount}`),
  retry: 'Try again',
  close: 'Close',
  cancel: 'Cancel',
  more: 'Show more',
  sorting: 'Sort by',
  givenOrder: 'Default order',
  ascending: (column) => `${column}: ascending`,
  descending: (column) => `${column}: descending`,
  loading: 'Loading…',
  formFailed: 'The form could not be sent',
  downloadFailed: 'The file could not be downloaded',
  readFailed: 'The data could not be loaded',
  offline: 'You are offline',
  offlineDetail: 'The data refreshes automatically once your connection is back.',
  unreachable: 'The server does not respond',
  unreachableDetail:
    'This is most likely a short interruption on our side. The data refreshes automatically once the server responds.',
  slow: 'The server takes longer than usual',
  slowDetail: 'The data appears automatically.',
  unavailable: 'The service is temporarily unavailable',
  unavailableDetail: 'We are already working on it. The page refreshes automatically.',
  forbidden: 'You do not have access to this section',
  forbiddenDetail: 'The owner of the organization can grant access.',
  notFound: 'Not found',
  notFoundDetail: 'It may have been removed, or the link is wrong.',
  retryAfter: (seconds: number) => {
    const { count, unit } = roundWait(seconds)
    return `Try again in ${plural('en', count, waitForms[unit])}.`
  },
  found: (shown: number, hidden: number) => {
    if (shown === 0) return 'Nothing found'
    return hidden === 0
      ? `Found: ${shown}`
      : `${shown} of ${shown + hidden} shown, type more to narrow the list`
  },
  showExactly: '— show exactly',
  exactly: (sum: string) => `Exactly: ${sum}`,
}
