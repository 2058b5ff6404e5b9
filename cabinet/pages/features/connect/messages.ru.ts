import type { ConnectClientId, ConnectGroup } from './snippets.ts'

const groups: Readonly<Record<ConnectGroup, string>> = {
  api: 'Без библиотек',
  sdk: 'Библиотеки',
  framework: 'Фреймворки',
  agent: 'Агенты и редакторы',
  app: 'Приложения',
}

/** Куда вводить и на что обратить внимание. */
const notes: Partial<Record<ConnectClientId, string>> = {
  'openai-java': 'Положите оба файла в одну папку. Нужны Java 11 или новее и Gradle.',
  codex: 'После проверки запускайте codex без параметров.',
  'claude-code': 'После проверки запускайте claude без -p. В адресе нет /v1: программа добавляет его сама.',
  cursor:
    'Откройте Cursor Settings → Models. Cursor обращается к шлюзу со своих серверов, поэтому шлюз должен быть доступен из интернета.',
  cline: 'Откройте настройки Cline и введите значения в раздел API Configuration.',
  continue: 'Если файл уже есть, добавьте в него только модель.',
  'open-webui': 'Список моделей Open WebUI получит сам. Ключ можно сменить в Admin Settings → Connections.',
  n8n: 'Создайте учётные данные OpenAI, затем выберите модель в узле OpenAI Chat Model.',
}

export const ru = {
  lead: 'Выберите программу и модель: адрес и модель уже подставлены.',
  configuration: 'Настройка',
  client: 'Программа',
  model: 'Модель',
  groups,
  noteOf: (client: ConnectClientId) => notes[client],
  replaceKey: 'Подставьте свой ключ вместо показанного. {Создать ключ}',
  install: 'Установка',
  command: 'Терминал',
  fields: 'Настройки программы',
  copyField: (name: string) => `Копировать: ${name}`,
  prompt: 'Привет!',
  test: 'Проверка',
  testLead: 'Один запрос к этой модели с временным ключом. Он оплачивается с баланса.',
  send: 'Отправить запрос',
  sendAgain: 'Отправить ещё раз',
  waiting: 'Ждём ответ…',
  works: 'Модель ответила',
  answer: 'Ответ',
  emptyAnswer: 'пустой',
  tokens: 'Токены',
  cost: 'Стоимость',
  requestId: 'Номер запроса',
  noKey: 'Не удалось создать временный ключ',
  noModels: 'Сейчас нет доступных моделей.',
  catalog: 'Открыть каталог',
}
