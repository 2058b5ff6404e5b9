import type { ru } from './kit.ru.ts'
import { plural } from './plural.ts'
import { roundWait } from './wait.ts'

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
  notCopied: 'The browser did not allow copying: select the text and copy it yourself.',
  copyRequestId: 'Copy the request id',
  copyCode: 'Copy the code',
  codeLanguage: 'Language of the example',
  requestId: 'Request id:',
  filters: (setCount: number) => (setCount === 0 ? 'Filters' : `Filters: ${setCount}`),
  retry: 'Try again',
  close: 'Close',
  cancel: 'Cancel',
  more: 'Show more',
  loading: 'Loading…',
  formFailed: 'It could not be sent',
  downloadFailed: 'The file could not be downloaded',
  readFailed: 'It could not be loaded',
  unreachable: 'The server cannot be reached',
  unreachableDetail: 'Check your connection. Everything refreshes by itself once it is back.',
  unavailable: 'The service is unavailable for a moment',
  unavailableDetail: 'We are already on it. This page refreshes by itself.',
  forbidden: 'You have no access to this part',
  forbiddenDetail: 'The owner of the organization can grant it.',
  notFound: 'There is nothing like this here',
  notFoundDetail: 'It may have been removed, or the link is wrong.',
  retryAfter: (seconds: number) => {
    const { count, unit } = roundWait(seconds)
    return `Try again in ${plural('en', count, waitForms[unit])}.`
  },
  showExactly: '— show exactly',
  exactly: (sum: string) => `Exactly: ${sum}`,
}
