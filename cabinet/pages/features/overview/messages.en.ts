import type { ru } from './overview.ru.ts'
import { plural } from './plural.ts'

export const en: typeof ru = {
  lead: 'Your balance, what was spent today, and what needs attention.',
  balance: 'Balance',
  held: 'Reserved:',
  nothingHeld: 'Nothing is reserved',
  lowBalance: 'Below the threshold that you set',
  topUp: 'Top up',
  spentToday: 'Spent today',
  requestsToday: 'Requests today',
  yesterday: 'All of yesterday:',
  zone: (zone) => `Days of the time zone ${zone}.`,
  newKey: 'Create a key',

  nearTitle: 'Keys near their limit',
  nearLead: 'They have used 80% of their daily budget or more.',
  nearEmpty: 'Every key has enough budget for today.',
  allKeys: 'All keys',
  ofBudget: 'of',
  used: (name, percent) => `${name}: ${percent}% of the daily budget used`,

  refusalsTitle: 'Last refusals',
  refusalsLead: 'Which limit it was, and when it resets.',
  refusalsEmpty: 'Nothing was refused: no limit has stopped anybody.',
  seeRequests: 'See the requests',

  startTitle: 'Getting started',
  startLead: (done, all) => `${done} of ${plural('en', all, { one: 'step', other: 'steps' })} done.`,
  done: 'Done',
  notDone: 'To do',
  confirmStep: 'Confirm your email address',
  confirmText: (email) => `Open the link in the letter that we sent to ${email}.`,
  sendAgain: 'Send the letter again',
  sentAgain: 'The letter was sent again',
  keyStep: 'Create a key',
  keyText: 'Your program calls the models with it. Give it a daily budget, so that it never spends too much.',
  requestStep: 'Send a first request',
  requestText: 'Put your key into this command, or try a model in the {playground}. This step ticks itself.',
  topUpStep: 'Top up the balance',
  topUpText: 'Keys work as long as there is money on the balance.',
}
