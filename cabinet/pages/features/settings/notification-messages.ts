import { en } from './notification-messages.en.ts'
import { ru } from './notification-messages.ru.ts'

export const notificationWords = { ru, en }
