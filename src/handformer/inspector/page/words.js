// Every word that the page shows, in English and Chinese. Views bring their own with `register`.

const TABLES = { en: new Map(), zh: new Map() };
let language = "en";

// The languages, each by its own name.
export const LANGUAGES = { en: "English", zh: "中文" };

// Adds {en: {key: text}, zh: {key: text}}.
export function register(words) {
  for (const [name, table] of Object.entries(TABLES)) {
    for (const [key, text] of Object.entries(words[name] ?? {})) {
      table.set(key, text);
    }
  }
}

// The text of a key in the page's language; `{name}` in it becomes the value of that name.
export function t(key, values = {}) {
  const text = TABLES[language].get(key) ?? TABLES.en.get(key) ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) =>
    name in values ? String(values[name]) : whole,
  );
}

// Whether a key has a text.
export function known(key) {
  return TABLES.en.has(key);
}

// The keys that one language has and another lacks: none, if nothing was forgotten.
export function missing() {
  const [en, zh] = [TABLES.en, TABLES.zh].map((table) => [...table.keys()]);
  return [...en.filter((key) => !TABLES.zh.has(key)), ...zh.filter((key) => !TABLES.en.has(key))];
}

export function setLanguage(name) {
  language = name in TABLES ? name : "en";
}

// The language that a person most likely reads.
export function preferred() {
  return (navigator.languages ?? []).some((tag) => /^zh\b/i.test(tag)) ? "zh" : "en";
}

register({
  en: {
    nav: "Views",
    "nav.": "Picture",
    "nav.attention": "Attention",
    "nav.tokens": "Tokens",
    "nav.values": "Values",
    "nav.generate": "Generate",
    "nav.run": "Training",
    "nav.tour": "Tour",
    skip: "Skip to the content",
    "header.trace": "Text",
    "header.direction": "Direction",
    "header.forward": "Forward",
    "header.back": "Backward",
    "header.theme.light": "Switch to light colours",
    "header.theme.dark": "Switch to dark colours",
    "header.language": "Language",
    "header.help": "Keys and help",
    "said.forward": "Forward: values, from the tokens to the loss",
    "said.back": "Backward: gradients, from the loss to the tokens",
    "said.light": "Light colours",
    "said.dark": "Dark colours",
    reading: "Reading the numbers …",
    "error.title": "This could not be shown",
    "error.view": "There is no view called “{name}” here.",
    "error.path": "There is no value called “{path}” in this trace.",
    "error.trace": "There is no trace “{id}” here.",
    "error.back": "To the picture",
    "empty.title": "Nothing has been traced yet",
    "empty.body": "A text has to run through the model before there is something to see.",
    "help.title": "Keys",
    "help.b": "switch between forward and backward",
    "help./": "search all values",
    "help.?": "show these keys",
    "help.Escape": "close, or go one step up",
    "help.arrows": "from part to part; in a map or a table from cell to cell",
    "help.Enter": "open what is focused",
    "help.g": "to the picture",
    "help.close": "Close",
    "help.words": "Words",
    "help.rms":
      "Root mean square: the square root of the mean of the squares, the usual size of an entry.",
    "help.largest": "Largest magnitude: the entry farthest from zero.",
    "help.spine": "Residual stream: the line to which every part adds what it found.",
    "help.gradient":
      "Gradient: how much the loss would grow for each unit by which an entry grows.",
  },
  zh: {
    nav: "视图",
    "nav.": "全景",
    "nav.attention": "注意力",
    "nav.tokens": "词元",
    "nav.values": "数值",
    "nav.generate": "生成",
    "nav.run": "训练",
    "nav.tour": "导览",
    skip: "跳到正文",
    "header.trace": "文本",
    "header.direction": "方向",
    "header.forward": "前向",
    "header.back": "反向",
    "header.theme.light": "切换到浅色",
    "header.theme.dark": "切换到深色",
    "header.language": "语言",
    "header.help": "按键与帮助",
    "said.forward": "前向：数值，从词元到损失",
    "said.back": "反向：梯度，从损失回到词元",
    "said.light": "浅色",
    "said.dark": "深色",
    reading: "正在读取数值……",
    "error.title": "无法显示",
    "error.view": "这里没有名为“{name}”的视图。",
    "error.path": "这份记录里没有名为“{path}”的数值。",
    "error.trace": "这里没有编号为“{id}”的记录。",
    "error.back": "返回全景",
    "empty.title": "还没有任何记录",
    "empty.body": "先让一段文本通过模型，才有数值可看。",
    "help.title": "按键",
    "help.b": "在前向与反向之间切换",
    "help./": "搜索全部数值",
    "help.?": "显示这份按键说明",
    "help.Escape": "关闭，或返回上一级",
    "help.arrows": "在各部件之间移动；在图或表格中逐格移动",
    "help.Enter": "打开当前焦点所在之处",
    "help.g": "回到全景",
    "help.close": "关闭",
    "help.words": "术语",
    "help.rms": "均方根：各元素平方的平均值再开方，反映元素的典型大小。",
    "help.largest": "最大幅值：离零最远的那个元素的绝对值。",
    "help.spine": "残差流：贯穿模型的主干，每个部件都把自己的结果加到它上面。",
    "help.gradient": "梯度：某个元素每增加一个单位，损失随之增加多少。",
  },
});
