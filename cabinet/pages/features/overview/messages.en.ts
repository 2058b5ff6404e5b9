import { plural } from '../../i18n/plural.ts'
import type { ru } from './messages.ru.ts'

export const en: typeof ru = {
  lead: 'Your balance, today’s spending, and anything that needs attention.',
  balance: 'Balance',
  held: 'Reserved:',
  nothingHeld: 'Nothing is reserved',
  lowBalance: 'Below your threshold',
  topUp: 'Top up',
  spentToday: 'Spent today',
  requestsToday: 'Requests today',
  yesterday: 'All of yesterday:',
  zone: (zone) => `Days are in the time zone ${zone}.`,
  newKey: 'Create a key',

  nearTitle: 'Keys near a budget',
  nearLead: 'They have used 80% or more of a daily, weekly, monthly or total budget.',
  allKeys: 'All keys',
  ofBudget: 'of',
  periods: { day: 'per day', week: 'per week', month: 'per month', total: 'in total' },
  used: (name, percent, period) => `${name}: ${percent}% of the budget ${period} used`,

  refusalsTitle: 'Recent rejections',
  refusalsLead: 'Which limit applied, and when it resets.',
  allRefusals: 'All rejections',

  startTitle: 'Getting started',
  startLead: (done, all) => `${done} of ${plural('en', all, { one: 'step', other: 'steps' })} done.`,
  done: 'Done',
  notDone: 'To do',
  confirmStep: 'Confirm your email address',
  confirmText: (email) => `Open the link in the email that we sent to ${email}.`,
  sendAgain: 'Send the email again',
  sentAgain: 'Email sent again',
  keyStep: 'Create a key',
  keyText: 'Your program uses it to call models. Give it a daily budget to limit spending.',
  requestStep: 'Send your first request',
  requestText:
    'Put your key into this command, or try a model in the {playground}. This step is checked off automatically.',
  topUpStep: 'Top up the balance',
  topUpText: 'Keys work as long as there is money on the balance.',
}
