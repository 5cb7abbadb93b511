/* What is cited. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"

#include <string.h>

static const struct {
    const char *mark; /* in the words of a source */
    const char *entry;
} rows[] = {
    {"sitar-lab/NeuSight",
     "@inproceedings{neusight,\n"
     "  title = {Forecasting {GPU} Performance for Deep Learning Training and Inference},\n"
     "  author = {Lee, Seonho and Phanishayee, Amar and Mahajan, Divya},\n"
     "  booktitle = {ASPLOS},\n"
     "  year = {2025}\n"
     "}\n"},
    {"ai-dynamo/aiconfigurator", "@misc{aiconfigurator,\n"
                                 "  title = {{AIConfigurator}},\n"
                                 "  author = {{NVIDIA CORPORATION \\& AFFILIATES}},\n"
                                 "  howpublished = {repository ai-dynamo/aiconfigurator}\n"
                                 "}\n"},
    {"microsoft/vidur", "@inproceedings{vidur,\n"
                        "  title = {Vidur: A Large-Scale Simulation Framework for {LLM} Inference},\n"
                        "  author = {Agrawal, Amey and others},\n"
                        "  booktitle = {MLSys},\n"
                        "  year = {2024}\n"
                        "}\n"},
    {"baidu-research/DeepBench", "@misc{deepbench,\n"
                                 "  title = {{DeepBench}},\n"
                                 "  author = {{Baidu Research}},\n"
                                 "  howpublished = {repository baidu-research/DeepBench}\n"
                                 "}\n"},
    {"zksainx/pipeweave", "@misc{pipeweave,\n"
                          "  title = {{PipeWeave}},\n"
                          "  howpublished = {repository zksainx/pipeweave}\n"
                          "}\n"},
    {"ml-energy/zeus",
     "@inproceedings{zeus,\n"
     "  title = {Zeus: Understanding and Optimizing {GPU} Energy Consumption of {DNN} Training},\n"
     "  author = {You, Jie and Chung, Jae-Won and Chowdhury, Mosharaf},\n"
     "  booktitle = {NSDI},\n"
     "  year = {2023}\n"
     "}\n"},
    {"ml-energy/leaderboard", "@misc{mlenergy,\n"
                              "  title = {The {ML.ENERGY} Leaderboard},\n"
                              "  howpublished = {repository ml-energy/leaderboard-v2}\n"
                              "}\n"},
    {"splitwise", "@inproceedings{splitwise,\n"
                  "  title = {Splitwise: Efficient Generative {LLM} Inference Using Phase Splitting},\n"
                  "  author = {Patel, Pratyush and others},\n"
                  "  booktitle = {ISCA},\n"
                  "  year = {2024}\n"
                  "}\n"},
};

char *rt_citations(const char *sources, const char *own)
{
    struct rt_text text = {0};
    rt_text_add(&text, "@software{rooftile,\n"
                       "  title = {rooftile: forecasts of how long deep-learning work takes on {GPUs}},\n"
                       "  author = {{The rooftile authors}},\n"
                       "  version = {" RT_VERSION "},\n"
                       "  year = {2026},\n"
                       "  note = {MIT licence}\n"
                       "}\n");
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        if (strstr(sources, rows[i].mark) != NULL)
            rt_text_add(&text, "%s", rows[i].entry);
    if (own != NULL)
        rt_text_add(&text, "%s\n", own);
    return rt_text_take(&text);
}
