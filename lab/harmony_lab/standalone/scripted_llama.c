/* Makes llama.cpp sample the tokens of a script; preload it into llama-server (LD_PRELOAD).
 *
 * It replaces three functions of libllama's C interface, and touches no struct:
 *   llama_tokenize         reads the prompt: the last [[script NAME]] or [[tokens 1 2 3]] in it is played
 *   llama_get_logits_ith   raises the logit of the script's next token
 *   llama_sampler_accept   writes down the token that was sampled; a grammar may have chosen another one
 *
 * The weights of the model are zero, and so is a row of logits that was not asked for yet. A row that
 * already has our mark is asked for again (grammar, log probabilities): then the script does not advance.
 * One sequence at a time: the server has one slot.
 *
 * HARMONY_LAB_TOKENS   file of lines "NAME ID ID ...". The script "-" is played where a prompt names none,
 *                      and "+" has the tokens that close a call, best first, for a grammar that refuses the
 *                      script's token.
 * HARMONY_LAB_SAMPLED  file for the sampled ids, one line for each prompt.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { END = 200002, VOCABULARY = 201088, LONGEST = 1 << 16, CLOSERS = 16 };

static int32_t script[LONGEST];
static int length;
static int place; /* tokens of the script that were offered to the sampler */
static int32_t closers[CLOSERS];
static int closer_count;
static FILE *sampled;

/* Reads at most `most` ids from `text` up to the first character that is neither digit nor blank. */
static int read_ids(const char *text, int32_t *ids, int most) {
    int count = 0;
    while (count < most) {
        text += strspn(text, " \t");
        if (*text < '0' || *text > '9') break;
        char *after;
        long id = strtol(text, &after, 10);
        if (id >= 0 && id < VOCABULARY) ids[count++] = (int32_t)id;
        text = after;
    }
    return count;
}

/* The ids of a script of the file; -1 if it is not there. */
static int read_script(const char *name, size_t name_length, int32_t *ids, int most) {
    const char *path = getenv("HARMONY_LAB_TOKENS");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return -1;
    char *line = NULL;
    size_t size = 0;
    int count = -1;
    while (count < 0 && getline(&line, &size, file) > 0)
        if (strncmp(line, name, name_length) == 0 && line[name_length] == ' ')
            count = read_ids(line + name_length, ids, most);
    free(line);
    fclose(file);
    return count;
}

static const char *last_of(const char *text, const char *what) {
    const char *last = NULL;
    for (const char *here = strstr(text, what); here; here = strstr(here + 1, what)) last = here;
    return last;
}

static void start(const char *prompt) {
    const char *name = last_of(prompt, "[[script "), *ids = last_of(prompt, "[[tokens ");
    /* llama-server also tokenizes parts of a template; only a whole prompt has a message. */
    if (!name && !ids && !strstr(prompt, "<|start|>user<|message|>")) return;
    length = -1;
    if (ids && (!name || ids > name)) {
        length = read_ids(ids + strlen("[[tokens "), script, LONGEST);
    } else if (name) {
        name += strlen("[[script ");
        length = read_script(name, strcspn(name, "]"), script, LONGEST);
    }
    if (length < 0) length = read_script("-", 1, script, LONGEST);
    place = 0;
    if (closer_count == 0) closer_count = read_script("+", 1, closers, CLOSERS);
    if (!sampled && getenv("HARMONY_LAB_SAMPLED")) sampled = fopen(getenv("HARMONY_LAB_SAMPLED"), "a");
    if (sampled) {
        fputs("\n", sampled);
        fflush(sampled);
    }
}

int32_t llama_tokenize(const void *vocab, const char *text, int32_t text_length, int32_t *tokens, int32_t most,
                       bool add_special, bool parse_special) {
    static int32_t (*next)(const void *, const char *, int32_t, int32_t *, int32_t, bool, bool);
    if (!next) next = dlsym(RTLD_NEXT, "llama_tokenize");
    char *copy = strndup(text, (size_t)text_length);
    if (copy) start(copy);
    free(copy);
    return next(vocab, text, text_length, tokens, most, add_special, parse_special);
}

float *llama_get_logits_ith(void *context, int32_t row) {
    static float *(*next)(void *, int32_t);
    if (!next) next = dlsym(RTLD_NEXT, "llama_get_logits_ith");
    float *logits = next(context, row);
    if (!logits || logits[END] != 0) return logits;
    for (int rank = closer_count - 1; rank >= 0; rank--) logits[closers[rank]] = 40.0f - (float)rank;
    if (logits[END] == 0) logits[END] = 1;
    logits[place < length ? script[place] : END] = 60;
    place++;
    return logits;
}

void llama_sampler_accept(void *sampler, int32_t token) {
    static void (*next)(void *, int32_t);
    static const char *(*name_of)(const void *);
    if (!next) next = dlsym(RTLD_NEXT, "llama_sampler_accept");
    if (!name_of) name_of = dlsym(RTLD_NEXT, "llama_sampler_name");
    /* The chain has every token; its parts and the grammar get some of them again. Before the first row of
     * logits it is fed with the prompt. */
    if (sampled && place > 0 && strcmp(name_of(sampler), "chain") == 0) {
        fprintf(sampled, "%d ", token);
        fflush(sampled);
    }
    next(sampler, token);
}
