import { en } from './messages.en.ts'
import { ru } from './messages.ru.ts'

/** Messages of the audit log. */
export const auditWords = { ru, en }
