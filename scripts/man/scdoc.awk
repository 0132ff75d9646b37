# Text for scdoc(5), for the other awk programs of this folder.

# A text in which no character has a meaning for scdoc, but *words between stars*.
function escape(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/[_*`]/, "\\\\&", text)
    gsub(/\\\*[A-Za-z][A-Za-z ]*\\\*/, "@&@", text)
    gsub(/@\\\*/, "*", text)
    gsub(/\\\*@/, "*", text)
    if (text ~ /^[-.#;|\[\] +]/)
        text = "\\" text
    return text
}
