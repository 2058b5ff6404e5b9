import { en } from './billing.en.ts'
import { ru } from './billing.ru.ts'

export const billingWords = { ru, en }
