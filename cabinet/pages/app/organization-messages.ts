import { en } from './organization-messages.en.ts'
import { ru } from './organization-messages.ru.ts'

/** Messages about the organization that a tab shows. */
export const organizationWords = { ru, en }
