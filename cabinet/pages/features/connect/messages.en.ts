import type { ru } from './messages.ru.ts'
import type { ConnectClientId, ConnectGroup } from './snippets.ts'

const groups: Readonly<Record<ConnectGroup, string>> = {
  api: 'Without a library',
  sdk: 'Libraries',
  framework: 'Frameworks',
  agent: 'Agents and editors',
  app: 'Apps',
}

/** Where to type it, and what to look out for. */
const notes: Partial<Record<ConnectClientId, string>> = {
  'openai-java': 'Put both files into one folder. You need Java 11 or later and Gradle.',
  codex: 'Once this works, run codex without parameters.',
  'claude-code': 'Once this works, run claude without -p. The URL has no /v1: the program adds it.',
  cursor:
    'Open Cursor Settings → Models. Cursor calls the gateway from its own servers, so the gateway must be reachable from the internet.',
  cline: 'Open the settings of Cline and fill in API Configuration.',
  continue: 'If you have this file already, add only the model to it.',
  'open-webui':
    'Open WebUI reads the list of models. You can change the key in Admin Settings → Connections.',
  n8n: 'Create OpenAI credentials, then choose the model in the OpenAI Chat Model node.',
}

export const en: typeof ru = {
  lead: 'Choose a program and a model: the URL and the model are filled in.',
  configuration: 'Configuration',
  client: 'Program',
  model: 'Model',
  groups,
  noteOf: (client) => notes[client],
  replaceKey: 'Replace the key shown here by yours. {Create a key}',
  install: 'Install',
  command: 'Terminal',
  fields: 'Settings of the program',
  copyField: (name) => `Copy: ${name}`,
  prompt: 'Hello!',
  test: 'Test',
  testLead: 'One request to this model with a short-lived key. It is paid from the balance.',
  send: 'Send a request',
  sendAgain: 'Send again',
  waiting: 'Waiting for a response…',
  works: 'The model responded',
  answer: 'Response',
  emptyAnswer: 'empty',
  tokens: 'Tokens',
  cost: 'Cost',
  requestId: 'Request ID',
  noKey: 'The short-lived key could not be created',
  noModels: 'No model is available now.',
  catalog: 'Open the catalog',
}
